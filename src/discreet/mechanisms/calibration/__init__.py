"""Sub-room mechanisms/calibration."""
