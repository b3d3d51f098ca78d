"""Sub-room exact."""
