"""Sub-room analyst/equations."""
