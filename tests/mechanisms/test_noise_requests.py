"""Every variate of every mechanism, pass and option is requested at the scale that the release file states."""

from __future__ import annotations

import pytest

from discreet import release_request
from discreet import workflow as second_pass
from discreet.errors import SpecError
from discreet.mechanisms import column_search, gaussian, k_norm, laplace, sampler, wishart
from discreet.mechanisms import guard as discovery
from discreet.mechanisms import irls as iterates
from discreet.mechanisms.registry import mechanisms
from discreet.options import RobustErrors
from support.noise_requests import SEARCHED, STATED, Case, cases, differences, made, merged
from support.production_patches import halved_in, last_reused

NAMES = sorted(mechanisms())


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_the_variates_of_a_release_are_those_that_its_file_states(name):
    units, refused = set(), []
    for case in cases(name):
        try:
            found = differences(lambda case=case: made(case))
        except SpecError:
            refused.append(case.label)
            continue
        units.add(case.unit)
        assert not found, (case.label, found)
    assert {"rows", "replace"} <= units
    # what a mechanism does not offer: individuals with several rows, and counts before it
    if name == "staged":
        assert refused == [f"staged, {unit}, {{'robust': True}}" for unit in ("individuals", "individuals, replace")]
    assert not refused or name in ("wishart", "irls", "objective", "staged"), refused


@pytest.mark.no_cover
@pytest.mark.parametrize("noise", ["shares", "merger"])
def test_shares_of_several_curators_are_those_that_the_file_states(noise):
    assert not differences(lambda: merged(noise))


def test_every_mechanism_says_which_variates_its_files_state():
    assert set(STATED) == set(NAMES)


def exchanged_scales(patch):
    """As many variates of each scale as stated, on other entries."""

    def noisy(sums, distribution, size, source):
        scales = sorted(distribution.residual_steps(size))
        return tuple(a + b for a, b in zip(sums.on_grid(distribution.unit), source.draw(scales), strict=True))

    patch.setattr(second_pass, "residuals_with_noise", noisy)


def halved_at_its_source(patch):
    normal = sampler._gaussian
    patch.setattr(sampler, "_gaussian", lambda sigma, times: normal(max(1, sigma // 2), times))


def first_step_twice(patch):
    """The noise of the first step serves for the second one as well."""
    variates, kept = iterates.variates, []

    def again(context, scales):
        if not kept:
            kept.append(variates(context, scales))
            return kept[0]
        return kept.pop()

    patch.setattr(iterates, "variates", again)


MISTAKES = {
    "scales at the wrong entries": (exchanged_scales, Case("gaussian", options={"robust": True})),
    "one additional model": (
        halved_in(second_pass, "residuals_with_noise", "residual_diagonal_1"),
        Case("gaussian", options={"robust": RobustErrors(models=["y ~ x"])}),
    ),
    "moments": (halved_in(gaussian.GaussianMoments, "randomise", "cross"), Case("gaussian")),
    "rows of weights": (
        halved_in(gaussian, "weighted_moments", "rows"),
        Case("gaussian", options={"weights": "w"}),
    ),
    "a search": (halved_in(column_search, "noisy", "radius"), Case("refined")),
    "a Laplace block": (halved_in(laplace, "noisy_totals", "cross"), Case("laplace", delta=0.0)),
    "one entry of a vector": (halved_in(k_norm.KNormMoments, "passes", "count"), Case("k-norm", delta=0.0)),
    "one column of a matrix": (
        halved_in(wishart.WishartMoments, "passes", "cross"),
        Case("wishart", settings={"degrees": 60}),
    ),
    "OpenDP": (halved_at_its_source, Case("output")),
    "a variate for two steps": (first_step_twice, Case("gradient", settings={"iterations": 3})),
    "a variate for two entries": (last_reused, Case("ssp")),
    "private bounds": (
        halved_in(discovery, "noisy_counts", "discovery"),
        Case("gaussian", options={"columns": SEARCHED}),
    ),
    "a guard": (
        halved_in(release_request, "guard_counts", "guard"),
        Case("laplace", options={"guard": True}, delta=0.0),
    ),
    "clip counts": (
        halved_in(gaussian.GaussianMoments, "passes", "clipped"),
        Case("gaussian", options={"clip_counts": True}),
    ),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_scale_a_missing_variate_and_one_used_twice_are_seen(mistake):
    """Negative controls; the same case without the mistake passes."""
    apply, case = MISTAKES[mistake]
    with pytest.MonkeyPatch.context() as patch:
        apply(patch)
        assert differences(lambda: made(case))
    assert not differences(lambda: made(case))
