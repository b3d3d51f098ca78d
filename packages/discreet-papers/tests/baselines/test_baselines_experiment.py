"""The runs behind the figures of the baselines give the lines that the figures draw."""

from discreet_papers.baselines import baselines_figures
from discreet_papers.baselines.baselines_figures import (
    ADAPTIVE,
    CLIPS,
    EXACT,
    HUNDRED,
    LEAST,
    MIXING,
    SCRIPT,
    SINGLE,
    TEN,
    THIRDS,
)


def lines(rows):
    return list(dict.fromkeys(row["line"] for row in rows))


def test_every_run_gives_its_lines():
    assert lines(baselines_figures.boosted(1, "housing", None, 1.0, 1)) == [SINGLE, TEN, HUNDRED, SCRIPT]
    assert lines(baselines_figures.mixing(1, "housing", None, 1.0, 1)) == [LEAST, MIXING, THIRDS, EXACT]
    descents = lines(baselines_figures.clipped_descent(1, "steep", None, 1.0, 1))
    assert descents == [ADAPTIVE, *(f"clip {clip:g}" for clip in CLIPS)]
    assert len(baselines_figures.followed_quantile(1, 0.5, 30, 2)) == 60


def test_the_same_seed_gives_the_same_numbers():
    assert baselines_figures.mixing(3, "housing", None, 1.0, 2) == baselines_figures.mixing(3, "housing", None, 1.0, 2)
    assert baselines_figures.tukey(3, 200, 2_000, 1) == baselines_figures.tukey(3, 200, 2_000, 1)


def test_the_script_has_far_less_noise_than_it_needs():
    given = {"epsilon": 1.0, "delta": 1e-6, "bounds": [(-1.0, 1.0)], "target_bounds": (-1.0, 1.0), "rounds": 100}
    script, sound = baselines_figures._Script(**given).noise(), baselines_figures.BoostedAdaSSP(**given).noise()
    assert sound[1] > 300 * script[1]
