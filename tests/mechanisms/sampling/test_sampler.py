"""The sampler of discrete Laplace variates, its distribution and its lack of a limit; uniform bits; versions of
OpenDP."""

from __future__ import annotations

import importlib.metadata
import re

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import primitives
from discreet.errors import SpecError
from discreet.mechanisms import sampler as noise
from discreet.mechanisms.sampler import MAX_SIGMA, ExactSampler, rounded_up
from discreet.testing.not_private import SeededSampler

# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9


def test_small_scales_follow_the_discrete_probabilities():
    draws = np.array(ExactSampler().laplace([3] * 20_000))
    z = np.arange(-18, 19)
    inside = draws[np.abs(draws) <= 18]
    observed = np.array([(inside == value).sum() for value in z])

    def p_value(scale: float) -> float:
        p = np.exp(-np.abs(z) / scale)
        return float(stats.chisquare(observed, p / p.sum() * observed.sum()).pvalue)

    assert p_value(3.0) > FALSE_ALARM
    assert p_value(3.3) < FALSE_ALARM
    assert p_value(2.7) < FALSE_ALARM


def test_large_scales_follow_the_laplace_distribution():
    scale = 2**40
    draws = np.array(ExactSampler().laplace([scale] * 20_000), dtype=float)
    # the size is exponential, so twice the sum over the scale is chi-square with 40,000 degrees of freedom
    statistic = 2 * np.abs(draws).sum() / scale
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 40_000)
    assert low < statistic < high
    # a scale 15 % off is fifteen standard errors outside
    assert not low < statistic * 1.15 < high
    assert not low < statistic * 0.85 < high
    assert abs((draws > 0).mean() - 0.5) < 6.2 * 0.5 / np.sqrt(20_000)


def test_a_scale_of_0_gives_0_and_each_place_has_its_own_scale():
    draws = np.array([ExactSampler().laplace([2**20, 0, 2**40]) for _ in range(300)], dtype=float)
    assert (draws[:, 1] == 0).all()
    # a mean size of 300 exponentials is within 0.5 of its scale but for one case in 1e9
    assert np.abs(draws[:, 0]).mean() == pytest.approx(2**20, rel=0.5)
    assert np.abs(draws[:, 2]).mean() == pytest.approx(2**40, rel=0.5)


@pytest.mark.parametrize("scale", [-1, MAX_SIGMA * 2, 2**53 + 1])
def test_the_sampler_refuses_what_it_cannot_draw_exactly(scale):
    with pytest.raises(ValueError, match="noise scale must"):
        ExactSampler().laplace([scale])


@pytest.mark.parametrize(("saturated", "sign"), [(2**63 - 1, 1), (-(2**63), -1), (-(2**63) + 1, -1)])
def test_a_saturated_draw_goes_on_beyond_64_bits(monkeypatch, saturated, sign):
    """The distribution has no memory: the rest is the next draw that is not negative, which may saturate again."""
    drawn = iter([[saturated], [-3], [2**63 - 1], [-1], [5]])
    monkeypatch.setattr(noise, "_saturating_laplace", lambda scale, how_many: next(drawn))
    assert ExactSampler().laplace([2**57]) == [sign * (2 * (2**63 - 1) + 5)]


@pytest.mark.parametrize("bits", [1, 20, 53, 54, 57])
def test_a_scale_is_rounded_up_to_the_next_double_and_never_down(bits):
    for asked in [2 ** (bits - 1) + k for k in range(40)] + [2**bits - 1]:
        taken = rounded_up(asked)
        assert int(float(taken)) == taken >= asked
        # the double before it would be too small
        assert taken == asked or int(np.nextafter(float(taken), 0.0)) < asked


def test_bits_are_uniform():
    values = np.array([ExactSampler().bits(3) for _ in range(8_000)])
    assert stats.chisquare(np.bincount(values, minlength=8)).pvalue > FALSE_ALARM
    assert ExactSampler().bits(0) == 0


def test_the_seeded_sampler_repeats_itself_and_is_not_private():
    assert not SeededSampler(1).private
    for draw in (
        lambda sampler: sampler.draw([2**30] * 5),
        lambda sampler: sampler.laplace([2**30] * 5),
        lambda sampler: [sampler.bits(77) for _ in range(5)],
    ):
        first, again, other = draw(SeededSampler(1)), draw(SeededSampler(1)), draw(SeededSampler(2))
        assert first == again
        assert first != other
    assert 0 <= max(SeededSampler(3).bits(5) for _ in range(200)) < 32
    scaled = np.array(SeededSampler(4).laplace([2**30] * 20_000)) / 2**30
    assert np.abs(scaled).mean() == pytest.approx(1, abs=6.2 / np.sqrt(20_000))


@pytest.fixture
def installed(monkeypatch):
    """Pretend that a version of OpenDP is installed, or none."""

    def install(name):
        def version(package):
            if name is None:
                raise importlib.metadata.PackageNotFoundError(package)
            return name

        monkeypatch.setattr(importlib.metadata, "version", version)
        noise.check_opendp.cache_clear()

    yield install
    noise.check_opendp.cache_clear()


@pytest.mark.parametrize("version", ["0.14.2", "0.14.10", "0.15.0.post1", "0.16.0+local", "0.15", "1.0.0"])
def test_versions_of_opendp_with_an_exact_sampler_are_taken(installed, version):
    installed(version)
    ExactSampler()


@pytest.mark.parametrize("version", ["0.14.1", "0.14.0", "0.14", "0.9.3", "0.14.2rc1", "0.15.0.dev20260101", "?", None])
def test_other_versions_are_refused_with_what_to_do(installed, version):
    installed(version)
    said = re.escape(f"got {version or 'none'}; install one with: pip install 'opendp>=0.14.2'")
    for draw in (
        ExactSampler,
        lambda: primitives.discrete_laplace([1], 1, 1.0),
        lambda: primitives.gaussian([1.0], 1.0, epsilon=1.0, delta=1e-6),
    ):
        with pytest.raises(SpecError, match=said) as refused:
            draw()
        assert refused.value.exit_code == 2


def test_a_release_with_a_biased_sampler_opens_no_table_and_spends_nothing(installed):
    installed("0.14.1")
    touched = []

    class Table:
        def __arrow_c_stream__(self, requested_schema=None):
            touched.append("table")

    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
    with pytest.raises(SpecError, match=r"got 0\.14\.1"):
        discreet.release(Table(), design, epsilon=1.0, delta=1e-6, spend=lambda request: touched.append("spend"))
    assert touched == []
