"""The building blocks of differential privacy, one small module each, on exact whole-number noise.

They are reached as `discreet.primitives`. One proof, `primitives.proof.md`, stands beside them.
"""
