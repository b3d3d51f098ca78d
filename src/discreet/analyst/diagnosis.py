"""What a careful reader of a fit should hear, as a function of the fit."""

from __future__ import annotations

from discreet.analyst.diagnostics.diagnostics import Diagnostic, findings
from discreet.analyst.fitted import Fit
from discreet.analyst.model import fit
from discreet.errors import SpecError
from discreet.releases import Release


def diagnose(subject: Fit | Release) -> tuple[Diagnostic, ...]:
    """Every finding about a model, the most serious first; like `fit` it costs nothing more.

    Parameters
    ----------
    subject
        A fit, or a release, of which the model `discreet.fit(release)` is looked at.

    Returns
    -------
    tuple of Diagnostic
        Each with a `number` such as `D004` that never changes its meaning, a `title`, a `text` and a `severity`:
        `serious`, `caution` or `note`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> exact = discreet.testing.exact_release({"x": [0, 1, 2], "y": [2, 4, 6]}, design)  # NOT PRIVATE
    >>> [(found.number, found.severity, found.title) for found in discreet.diagnose(discreet.fit(exact))]
    [('D001', 'serious', 'Not private')]
    """
    if not isinstance(subject, Fit | Release):
        raise SpecError(
            f"diagnose needs a Fit or a Release, got {type(subject).__name__}; make a Fit with discreet.fit, or load a "
            "Release with Release.load(path)"
        )
    model = subject if isinstance(subject, Fit) else fit(subject)
    return findings(model.release, model)
