"""Tables of fits for papers, web pages and other programs, with every name escaped for its format."""
