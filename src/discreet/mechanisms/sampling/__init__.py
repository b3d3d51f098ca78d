"""Sub-room mechanisms/sampling."""
