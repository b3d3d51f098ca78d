"""Commands about methods rather than about one table: attacks, figures of papers, methods side by side.

Sees: parsed options.
Never: a curator's table.
Hands on: text, JSON, pictures, an exit code.
"""
