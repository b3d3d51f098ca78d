"""Code of the measured processes: each function is a job, called by name with JSON arguments.

A job simulates or reads its table first, then times the work and returns the seconds by name of the part. Jobs that
are measured as whole processes return nothing of interest.
"""
