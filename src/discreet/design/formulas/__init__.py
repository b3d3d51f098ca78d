"""Sub-room design/formulas."""
