"""Sub-room analyst/values."""
