"""What every mechanism has: its card, its settings, its passes, the promise.

Sees: public quantities.
Never: a mechanism by name.
Hands on: the protocol that workflow, registry and mechanisms share.
"""
