"""Sub-room audit/pairs."""
