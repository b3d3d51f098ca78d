"""The figures of the baselines run on what a fresh machine has, are judged and are drawn."""

import numpy as np
import pytest
from pandas import DataFrame

from discreet_papers.baselines import baselines_figures
from discreet_papers.baselines.baselines_figures import ADAPTIVE, CLIPS, LEAST, MIXING, THIRDS, TUKEY
from discreet_papers.figure import Run

QUICK = Run(quick=True)
FEW = {"repeats": 2}


@pytest.mark.no_cover
@pytest.mark.parametrize("figure", baselines_figures.FIGURES, ids=lambda figure: figure.name)
def test_a_figure_runs_without_a_folder_and_is_drawn(figure):
    cells = [cell for cell in figure.cells(QUICK) if cell.arguments.get("rows", 11_000) == 11_000]
    wide = [cell for cell in figure.cells(QUICK) if cell.arguments.get("rows", 0) == 22_000 and "1000" in cell.name]
    rows = [row for cell in (*cells, *wide) for row in cell.work(seed=1, **{**cell.arguments, **FEW})]
    numbers = DataFrame(rows)
    for criterion in figure.criteria:
        outcome = criterion.check(numbers)
        assert outcome.holds is not None
        assert outcome.measured
    assert figure.draw(numbers, QUICK).axes
    assert all(len(row) == len(table.headers) for table in figure.tables(numbers) for row in table.rows)
    assert figure.not_run(QUICK)


def test_a_share_of_cells_decides():
    numbers = DataFrame([
        {"panel": "a", "line": line, "epsilon": epsilon, "value": value}
        for epsilon, pair in ((1.0, (1, 2)), (2.0, (3, 2)))
        for line, value in zip((MIXING, THIRDS), pair, strict=True)
    ])  # fmt: skip
    assert baselines_figures._share_below(MIXING, THIRDS, 0.5)(numbers).holds
    assert not baselines_figures._share_below(MIXING, THIRDS, 0.75)(numbers).holds


def test_a_clip_that_follows_something_else_is_seen():
    from scipy.stats import norm

    true = [(f"{q:g}", float(np.exp(norm.ppf(q)))) for q in baselines_figures.QUANTILES]
    rows = [{"panel": "clip", "line": line, "round": 200, "value": value} for line, value in true]
    assert baselines_figures._follows(DataFrame(rows)).holds
    rows[0]["value"] *= 1.1
    assert not baselines_figures._follows(DataFrame(rows)).holds


def test_an_adaptive_clip_far_from_the_best_is_seen():
    rows = [{"panel": "a", "line": f"clip {clip:g}", "epsilon": 1.0, "value": 0.5} for clip in CLIPS]
    near = DataFrame([*rows, {"panel": "a", "line": ADAPTIVE, "epsilon": 1.0, "value": 0.54}])
    assert baselines_figures._near_best(near).holds
    assert not baselines_figures._near_best(near.replace(0.54, 0.56)).holds


def test_a_worse_model_or_a_failed_test_is_seen():
    rows = [
        {"panel": "22,000 rows", "line": line, "models": models, "value": value, "failed": 0}
        for models in (500, 1_000)
        for line, value in ((TUKEY, 0.99), (LEAST, 0.991))
    ]
    assert baselines_figures._as_good(DataFrame(rows)).holds
    assert baselines_figures._passes(DataFrame(rows)).holds
    rows[2] |= {"value": 0.98, "failed": 1}
    assert not baselines_figures._as_good(DataFrame(rows)).holds
    assert not baselines_figures._passes(DataFrame(rows)).holds
