"""Exact sums of a table, computed by Spark where the rows are stored.

Executors receive public declarations only and return exact sums. No noise is drawn here.
"""
