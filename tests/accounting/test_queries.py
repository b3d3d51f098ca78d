"""A query names its blocks and bounds the loss of their noise, or refuses noise that it does not have."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import Design
from discreet.accounting.iterations import WeightedProductsQuery
from discreet.accounting.queries import GramQuery, MomentsQuery, SeparateQuery, VectorQuery
from discreet.accounting.staged_queries import staged_queries
from discreet.design.domain import RowDomain
from discreet.errors import SpecError

DESIGN = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
DOMAIN = RowDomain.of(DESIGN)
ONE = {"score": Fraction(1), "diagonal": Fraction(1), "off": Fraction(1), "gram_diagonal": Fraction(1)}


def all_queries():
    flags = Design("y", {"y": (0, 1), "b": bool})
    return [
        VectorQuery("score", 3, 1.0, label="scores"),
        VectorQuery("score", 3, 1.0),
        GramQuery("diagonal", "off", 3, 1.0),
        MomentsQuery(DESIGN, DOMAIN, exact_entries=True),
        MomentsQuery(flags, RowDomain.of(flags), exact_entries=True),
        MomentsQuery(DESIGN, DOMAIN, sums=False, target_square=False),
        WeightedProductsQuery.of(DESIGN, DOMAIN, 4),
        SeparateQuery({"choice": 2}),
        *staged_queries(DESIGN, DOMAIN),
    ]


def test_every_block_has_a_label():
    for query in all_queries():
        assert set(query.labels) == set(query.blocks), query
    flags = all_queries()[4]
    assert flags.blocks["gram_diagonal"] == 0, "every square is a copy of a sum"
    assert flags.labels["gram_diagonal"] == ""
    assert VectorQuery("score", 3, 1.0).labels == {"score": "score"}


@pytest.mark.parametrize(
    "query", [VectorQuery("score", 1, 1.0), GramQuery("diagonal", "off", 2, 1.0)], ids=["vector", "gram"]
)
def test_laplace_noise_needs_an_l1_sensitivity(query):
    with pytest.raises(SpecError, match=r"Laplace noise on .* is not supported: its L1 sensitivity is not defined"):
        query.pure_loss(ONE)


def test_the_pure_loss_is_the_l1_sensitivity_over_the_scale():
    assert VectorQuery("score", 1, 1.0, l1_sensitivity=2.0, times=3).pure_loss({"score": Fraction(4)}) == Fraction(3, 2)
    gram = GramQuery("diagonal", "off", 2, 1.0, l1_sensitivity=2.0)
    assert gram.pure_loss({"diagonal": Fraction(1), "off": Fraction(4)}) == 2
    assert gram.pure_loss({"diagonal": Fraction(4), "off": Fraction(1)}) > 1, "the smaller scale decides"


def test_noise_that_a_query_does_not_have_is_refused():
    with pytest.raises(SpecError, match="got Laplace noise"):
        WeightedProductsQuery.of(DESIGN, DOMAIN, 4).pure_loss(ONE)
    for loss in (SeparateQuery({"choice": 2}).squared_loss, SeparateQuery({"choice": 2}).pure_loss):
        with pytest.raises(SpecError, match="must be computed jointly, by the mechanism's account"):
            loss(ONE)
