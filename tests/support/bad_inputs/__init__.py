"""A catalogue of bad inputs, numbered as in the design of the product, tried through the command line and Python."""
