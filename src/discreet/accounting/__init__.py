"""Account for privacy loss: sensitivities, noise distributions, and the loss of any published noise.

Used on both sides of the trust boundary; sees neither rows nor noise.
"""
