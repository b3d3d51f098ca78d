"""Sub-room analyst/summary."""
