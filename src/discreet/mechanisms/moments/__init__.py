"""Sub-room mechanisms/moments."""
