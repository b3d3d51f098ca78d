"""Random formula texts over three columns."""

from __future__ import annotations

NAMES = ("age", "wage", "years at school")
WRITTEN = ("age", "wage", "`years at school`")


def random_text(generator, depth):
    """A random formula text over three columns; about half of its calls are safe by a clip."""
    if depth == 0 or generator.random() < 0.12:
        if generator.random() < 0.25:
            return repr(generator.choice([0.0, 1.0, 0.1, 2.5, 7.0, 1 / 3, 1e-3, 1e5]))
        return generator.choice(WRITTEN)
    left = random_text(generator, depth - 1)
    right = random_text(generator, depth - 1)
    kind = generator.randrange(14)
    if kind < 6:
        return f"({left}) {generator.choice('+-*/+-')} ({right})"
    if kind == 6:
        return f"({left}) ** {generator.choice(['0', '1', '2', '3', '4', '7', '8', '0.5'])}"
    if kind == 7:
        return f"-({left}) + {generator.choice(WRITTEN)}"
    if kind == 8:
        return f"({left} {generator.choice(['<', '<=', '>', '>=', '==', '!='])} {generator.choice(WRITTEN)}) * wage"
    if kind == 9:
        return f"{generator.choice(['min', 'max'])}({left}, {right}, age)"
    if kind == 10:
        return f"clip({left}, {generator.choice(['-3', '0.1', '1'])}, {generator.choice(['2.7', '9', '1e3'])})"
    function = generator.choice(["log", "log2", "log10", "log1p", "exp", "sqrt", "abs"])
    if generator.random() < 0.6:
        left = f"clip({left}, {generator.choice(['0.001', '1', '0.7'])}, {generator.choice(['1.5', '90', '400'])})"
    return f"{function}({left}) + age - age"
