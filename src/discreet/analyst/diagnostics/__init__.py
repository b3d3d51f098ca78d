"""Sub-room analyst/diagnostics."""
