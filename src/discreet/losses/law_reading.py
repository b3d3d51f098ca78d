"""From the field `noise` of a release file to the law of the noise: nothing inconsistent is let through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.design.domain import MAX_GRID_BITS, MIN_GRID_BITS
from discreet.design.model import Design
from discreet.design.submodels import is_model
from discreet.errors import ReleaseFileError
from discreet.losses.fields import integers_of, table_of
from discreet.losses.law import CALIBRATIONS, FAMILIES, WEIGHT_STEPS, NoiseLaw
from discreet.privacy.checks import is_integer

_NEEDED: Final[Mapping[str, set[str]]] = {"k-norm": {"dimension"}, "wishart": {"degrees"}}


def law_of(table: Mapping[str, object], design: Design, schema: int) -> NoiseLaw:
    """The law of the noise that a file of some version states for a design."""
    bits, calibration, family = table.get("grid_bits"), table.get("calibration"), table.get("family")
    if family not in FAMILIES or calibration not in CALIBRATIONS:
        raise ReleaseFileError("this version does not know the noise distribution in the file")
    if not is_integer(bits) or not MIN_GRID_BITS <= bits <= MAX_GRID_BITS:
        raise ReleaseFileError("noise.grid_bits is out of range")
    sigma = integers_of(table_of(table.get("sigma"), "noise.sigma"), "noise.sigma")
    if any(value < 0 for value in sigma.values()):
        raise ReleaseFileError("noise.sigma must be positive")
    parameters = integers_of(table_of(table.get("parameters", {}), "noise.parameters"), "noise.parameters")
    if not _NEEDED.get(family, set()) <= set(parameters) or any(value < 1 for value in parameters.values()):
        raise ReleaseFileError(f"noise.parameters are not those of the family {family!r}")
    if WEIGHT_STEPS in parameters and design.weights is None:
        raise ReleaseFileError(f"noise.parameters has {WEIGHT_STEPS}, but the design has no weights")
    factors = _factors(table["factors"], design, schema) if "factors" in table else ()
    indicators = _indicators(table["indicators"], design, schema) if "indicators" in table else ()
    models = _models(table["models"], design, schema) if "models" in table else ()
    return NoiseLaw(bits, sigma, calibration, family, parameters, factors, indicators, models)


def _factors(given: object, design: Design, schema: int) -> tuple[tuple[int, int], ...]:
    """Factors whose products have no noise: all of the design; files before version 4 have none."""
    if schema < 4:
        raise ReleaseFileError(f"a release file of schema version {schema} has no noise.factors")
    if not design.factors or given != [list(one) for one in design.factors]:
        raise ReleaseFileError("noise.factors are not the first and last columns of the factors of the design")
    return design.factors


def _indicators(given: object, design: Design, schema: int) -> tuple[tuple[int, int], ...]:
    """Indicators whose sum and square are one number: all of the design; files before version 6 have none."""
    if schema < 6:
        raise ReleaseFileError(f"a release file of schema version {schema} has no noise.indicators")
    if not design.indicators or given != [list(one) for one in design.indicators]:
        raise ReleaseFileError("noise.indicators are not the first and last columns of the indicators of the design")
    return design.indicators


def _models(given: object, design: Design, schema: int) -> tuple[tuple[int, ...], ...]:
    """Columns of further models with sums over residuals; files before version 6 have none."""
    if schema < 6:
        raise ReleaseFileError(f"a release file of schema version {schema} has no noise.models")
    listed = given if isinstance(given, list) else []
    models = tuple(dict.fromkeys(tuple(one) for one in listed if isinstance(one, list) and is_model(design, one)))
    if not models or len(models) < len(listed):
        raise ReleaseFileError("noise.models must list the columns of models beside the full one, each model once")
    return models
