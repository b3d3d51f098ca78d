"""One noise distribution of each family."""

from __future__ import annotations

from dataclasses import replace

from discreet.releases import NoiseDistribution
from support.made_releases import made
from support.other_releases import DESIGN, rows

LAWS = {
    "discrete-gaussian": NoiseDistribution(16, {}, "none"),
    "discrete-laplace": NoiseDistribution(16, {}, "pure", "discrete-laplace"),
    "k-norm": NoiseDistribution(16, {}, "pure", "k-norm", {"dimension": 9}),
    "k-norm of all": NoiseDistribution(16, {}, "pure", "k-norm", {"dimension": 5}),
    "wishart": NoiseDistribution(16, {}, "chi-square", "wishart", {"degrees": 12}),
    "wishart of few": NoiseDistribution(16, {}, "chi-square", "wishart", {"degrees": 2}),
}


def laplace_release(sigma=2.0, count=400):
    release = made(DESIGN, rows(DESIGN, count), sigma=sigma).release
    return release, replace(release, noise=replace(release.noise, family="discrete-laplace"))
