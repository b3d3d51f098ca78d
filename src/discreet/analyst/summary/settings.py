"""Settings of a release in words, with what an automatic one stood for."""

from __future__ import annotations

from typing import Final

from discreet.releases import Release

_STEPS: Final = ("strength",)  # parameters of the noise that count steps of the product grid


def settings_used(release: Release) -> tuple[tuple[str, str], ...]:
    """Name and value of every setting; a 0 that let the mechanism choose is shown with what was chosen."""
    return tuple((name, _shown(release, name, value)) for name, value in sorted(release.settings.items()))


def automatic_settings(release: Release) -> dict[str, str]:
    """What the settings stood for that were left to the mechanism."""
    return {name: f"0 (here {chosen})" for name in release.settings for chosen in _chosen(release, name)}


def _shown(release: Release, name: str, value: bool | int | float | str) -> str:
    if isinstance(value, bool):
        return ("no", "yes")[value]
    return automatic_settings(release).get(name, f"{value:g}" if isinstance(value, float) else str(value))


def _chosen(release: Release, name: str) -> list[str]:
    """What a 0 meant, or nothing where the setting is no such 0 or the release does not record it."""
    value = release.settings[name]
    if isinstance(value, bool | str) or value != 0:
        return []
    if name in release.noise.parameters:
        return [f"{release.noise.parameters[name] / (release.noise.unit if name in _STEPS else 1):.6g}"]
    trace = () if release.coefficients is None else release.coefficients.trace
    return [str(len(trace))] if name == "iterations" and trace else []
