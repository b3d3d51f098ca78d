"""The runs behind the figures of the rivals give the lines that the figures draw."""

from discreet.papers.rivals import experiment
from discreet.papers.rivals.experiment import (
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
    assert lines(experiment.boosted(1, "housing", None, 1.0, 1)) == [SINGLE, TEN, HUNDRED, SCRIPT]
    assert lines(experiment.mixing(1, "housing", None, 1.0, 1)) == [LEAST, MIXING, THIRDS, EXACT]
    descents = lines(experiment.clipped_descent(1, "steep", None, 1.0, 1))
    assert descents == [ADAPTIVE, *(f"clip {clip:g}" for clip in CLIPS)]
    assert len(experiment.followed_quantile(1, 0.5, 30, 2)) == 60


def test_the_same_seed_gives_the_same_numbers():
    assert experiment.mixing(3, "housing", None, 1.0, 2) == experiment.mixing(3, "housing", None, 1.0, 2)
    assert experiment.tukey(3, 200, 2_000, 1) == experiment.tukey(3, 200, 2_000, 1)


def test_the_script_has_far_less_noise_than_it_needs():
    given = {"epsilon": 1.0, "delta": 1e-6, "bounds": [(-1.0, 1.0)], "target_bounds": (-1.0, 1.0), "rounds": 100}
    script, sound = experiment._Script(**given).noise(), experiment.BoostedAdaSSP(**given).noise()
    assert sound[1] > 300 * script[1]
