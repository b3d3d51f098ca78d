"""Sub-room cli/commands."""
