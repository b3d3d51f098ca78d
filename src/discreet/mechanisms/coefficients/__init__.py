"""Sub-room mechanisms/coefficients."""
