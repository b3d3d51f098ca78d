"""Sub-room tables."""
