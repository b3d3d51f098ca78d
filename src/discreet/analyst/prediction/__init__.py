"""Sub-room analyst/prediction."""
