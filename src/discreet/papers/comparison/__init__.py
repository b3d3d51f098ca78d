"""Methods side by side on tables that their owner declares public or simulated; everything is NOT PRIVATE.

Sees: public and simulated tables, and methods that learn from them.
Never: writes a release, or opens a table that nobody declared public or simulated.
Hands on: errors of prediction by table, method and epsilon, as a table, a picture and CSV.
"""
