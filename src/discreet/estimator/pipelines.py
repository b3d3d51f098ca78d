"""Whether a pipeline learns from rows in front of a private regressor.

A step in front hands the regressor an array; nothing in it says that a scaler made it, and to look at its cells for
that would let data decide what is said. So the pipeline itself is asked, without a row: by the user before it is
fitted, or by the regressor that it is fitting, which finds it among the callers of its `fit`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator
from typing import Final

from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]  # scikit-learn has no types
from sklearn.utils import get_tags  # type: ignore[import-untyped]  # as above

from discreet.errors import PrivacyNotice, SpecError

# steps that were warned of in this process: model selection fits a pipeline many times
_SAID: Final[set[tuple[str, ...]]] = set()


def check_pipeline(pipeline: Pipeline) -> tuple[str, ...]:
    """Name the steps of a pipeline that learn from rows before a private regressor sees them, and warn of them once.

    What a scaler, an imputer or a selection learns from the rows is not covered by the promise of the regressor behind
    it, and the bounds of the scaled columns cannot be known in advance. Steps without anything to learn (a
    `FunctionTransformer`, a `Normalizer`) are fine. The pipeline need not be fitted, and no row is read.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Whose last step is the regressor.

    Returns
    -------
    tuple of str
        Names of these steps, those of a nested one as `outer__inner`; none where the promise holds for the pipeline.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> import discreet
    >>> model = discreet.PrivateLinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1))
    >>> discreet.check_pipeline(make_pipeline(FunctionTransformer(), model))
    ()
    """
    if not isinstance(pipeline, Pipeline):
        raise SpecError(f"expected a scikit-learn Pipeline, got {type(pipeline).__name__}")
    learning = _steps(pipeline)
    if learning:
        warnings.warn(_notice(learning), PrivacyNotice, stacklevel=2)
    return learning


def warn_of_callers(model: object) -> None:
    """Warn, once for the same steps, if `fit` of a model is called by a pipeline that learns in front of it."""
    inside, learning = model, list[str]()
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Pipeline) and caller is not inside and caller.steps[-1][1] is inside:
            learning = [*_steps(caller), *learning]
            inside = caller
        frame = frame.f_back
    if learning and tuple(learning) not in _SAID:
        warnings.warn(_notice(learning), PrivacyNotice, stacklevel=3)
        # not before: a notice that is made an error comes again
        _SAID.add(tuple(learning))


def _steps(pipeline: Pipeline) -> tuple[str, ...]:
    return tuple(name for label, step in pipeline.steps[:-1] for name in _learning(label, step))


def _notice(learning: Iterable[str]) -> str:
    return (
        f"{', '.join(learning)}: learns from the rows in front of a private regressor, whose promise does not cover it."
        " Declare bounds, which do the scaling, and a rule for missing cells (missing=...); transform columns by "
        "declared formulas, or by steps that learn nothing"
    )


def _learning(label: str, step: object) -> Iterator[str]:
    """Names of what a step learns with: of its parts where it has parts, its own otherwise."""
    if step is None or isinstance(step, str):
        # "passthrough" and "drop"
        return
    parts = [getattr(step, name) for name in ("steps", "transformers", "transformer_list") if hasattr(step, name)]
    if parts:
        for name, part, *_ in parts[0]:
            yield from (f"{label}__{inside}" for inside in _learning(name, part))
    elif get_tags(step).requires_fit:
        yield label
