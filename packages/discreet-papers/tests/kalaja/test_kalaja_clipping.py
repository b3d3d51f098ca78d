"""The choice of clipping points on simulated rows."""

from discreet_papers.kalaja.kalaja_experiment import WIDTHS, clipping_widths


def test_the_grid_is_that_of_honkela_et_al():
    assert WIDTHS[0] == 0.1
    assert WIDTHS[-1] == 2.0
    assert len(WIDTHS) == 20


def test_the_choice_looks_at_no_data_and_is_repeatable():
    first = clipping_widths(2_000, 3, 1.0)
    clipping_widths.cache_clear()
    assert clipping_widths(2_000, 3, 1.0) == first


def test_a_large_budget_clips_little():
    """Without noise to speak of, narrow clipping only loses; with much noise it is chosen."""
    assert sum(clipping_widths(100_000, 3, 100.0)) > 3 > sum(clipping_widths(1_000, 3, 0.3))
