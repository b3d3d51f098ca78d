"""Expected accuracy of a release before it is made, from a design, a noise distribution and assumptions, never data."""
