"""Plot coefficients, predictions, paths and plans."""
