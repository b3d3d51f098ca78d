"""Variates that are drawn ahead are those of the production sampler, each handed out once."""

from __future__ import annotations

import pytest

from discreet.audit import runs as pooled
from discreet.audit.runs import PooledSampler
from discreet.mechanisms.sampler import ExactSampler


@pytest.mark.parametrize("family", ["draw", "laplace"])
def test_variates_come_from_the_production_sampler_by_scale_and_never_twice(family, monkeypatch):
    given = iter(range(10**6))
    asked = []

    def counted(self, scales):
        asked.append((scales[0], len(scales)))
        return [next(given) for _ in scales]

    monkeypatch.setattr(ExactSampler, family, counted)
    monkeypatch.setattr(pooled, "_FIRST_BATCH", 2)
    monkeypatch.setattr(pooled, "_BATCH", 3)
    sampler = PooledSampler()
    drawn = [value for _ in range(4) for value in getattr(sampler, family)([5, 7])]
    assert len(set(drawn)) == len(drawn) == 8
    assert asked == [(5, 2), (7, 2), (5, 3), (7, 3)]


def test_the_first_variates_of_every_scale_are_kept_equally_many_whatever_was_used(monkeypatch):
    monkeypatch.setattr(pooled, "_FIRST_BATCH", 3)
    monkeypatch.setattr(pooled, "_BATCH", 3)
    monkeypatch.setattr(pooled, "FIRST_DRAWN", 7)
    sampler = PooledSampler()
    used = [sampler.draw([50])[0] for _ in range(10)] + [sampler.laplace([60])[0]]
    kept = sampler.first_drawn()
    assert set(kept) == {("gaussian", 50), ("laplace", 60)}
    assert {len(drawn) for drawn in kept.values()} == {7}
    # each block is handed out from its end
    assert sorted(kept["gaussian", 50][:6]) == sorted(used[:6])
    # what is drawn for the test is used later
    assert [sampler.laplace([60])[0] for _ in range(3)]


def test_no_noise_and_bits():
    sampler = PooledSampler()
    assert sampler.draw([0, 0]) == sampler.laplace([0, 0]) == [0, 0]
    assert 0 <= sampler.bits(5) < 32
    assert sampler.private
