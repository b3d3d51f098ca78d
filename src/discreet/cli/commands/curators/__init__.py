"""Commands of several curators: keys, a session, masked parts, and one release from all of them.

Sees: parsed options, and the path of one curator's table.
Never: a row, an exact sum, a private key.
Hands on: text, JSON, parts, a release, an exit code.
"""
