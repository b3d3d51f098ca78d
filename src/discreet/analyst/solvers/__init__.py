"""Sub-room analyst/solvers."""
