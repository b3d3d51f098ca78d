"""Sub-room analyst/planning."""
