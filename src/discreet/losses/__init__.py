"""LOSS: from the law of the noise to what it costs, forwards, from public quantities alone.

Sees: a design, the law of a release's noise, the mechanism with its version and settings.
Never: a row, a sum, a draw; a budget from which noise is made.
Hands on: a `Loss`, or a refusal of a law that the mechanism cannot have.
"""
