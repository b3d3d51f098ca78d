"""Sub-room mechanisms/interface."""
