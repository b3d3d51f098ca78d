"""The HTML report of a release and a fit: one page that loads nothing and runs no script."""
