"""Accounting: sensitivities, noise distributions, and the privacy loss of any published noise.

Both sides of the trust boundary use it. It sees neither rows nor drawn noise.
"""
