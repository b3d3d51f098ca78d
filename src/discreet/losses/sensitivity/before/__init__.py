"""How far one unit moves counts that are released before a mechanism runs.

Sees: the privacy unit and the columns whose bounds are private.
Never: rows, or a law of noise.
Hands on: sensitivities, to the calibration of such counts and to the map of their loss.
"""
