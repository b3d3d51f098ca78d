"""Sum a table on Spark, where its rows are.

Executors receive public declarations only and return exact sums. No noise is drawn here.
"""
