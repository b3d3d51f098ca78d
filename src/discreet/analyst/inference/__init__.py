"""Sub-room analyst/inference."""
