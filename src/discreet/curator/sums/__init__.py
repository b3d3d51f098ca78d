"""Sub-room curator/sums."""
