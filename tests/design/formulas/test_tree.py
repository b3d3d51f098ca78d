"""The canonical text of a tree reads back as the same tree, and as no other."""

from __future__ import annotations

import random

import pytest

from discreet.design.formulas.formula import parse
from support.random_formulas import random_text


@pytest.mark.parametrize("letter", range(25))
def test_canonical_texts_of_random_formulas_read_back_the_same(letter):
    generator = random.Random(letter)
    for _ in range(40):
        formula = parse(f"age + {random_text(generator, 3)}")
        assert parse(str(formula)) == formula
