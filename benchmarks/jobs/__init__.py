"""What measured processes do: one function is one job, called by name with JSON arguments.

Sees: the arguments, and a table that it makes or reads.
Never: measures a process; a job that needs a table first makes it, then times what is asked, and gives the seconds.
Hands on: nothing, or seconds by the name of a part.
"""
