"""The directive `primitive-picture`: plots of the errors and distributions that primitives state."""

from __future__ import annotations

from collections.abc import Callable

from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx.application import Sphinx

from discreet import primitives
from mechanisms import STYLE, inline_svg

HOW_MANY = (1, 3, 10, 30, 100, 300, 1000)
PRIORS = tuple(k / 100 for k in range(101))


class PrimitivePicture(Directive):
    """A plot by its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the plot as inline SVG."""
        draw, caption = PICTURES[self.arguments[0]]
        with rc_context(STYLE):
            figure = Figure(figsize=(6.4, 3.4), layout="constrained")
            axes = figure.subplots()
            draw(axes)
            axes.legend(frameon=False)
            axes.spines[["top", "right"]].set_visible(False)
            svg = inline_svg(figure, caption)
        return [nodes.raw("", svg, format="html"), nodes.paragraph(text=caption, classes=["caption"])]


def _counts(axes: Axes) -> None:
    for place, (label, settings) in enumerate(
        {
            "Laplace, all counts": {},
            "Gaussian, all counts": {"delta": 1e-6},
            "Laplace, one count": {"max_memberships": 1},
        }.items()
    ):
        noisy = [primitives.counting_queries([0] * k, 1.0, **settings) for k in HOW_MANY]
        largest = [one.largest_error for one in noisy]
        axes.loglog(HOW_MANY, [one.mean_error for one in noisy], ":", marker="o", ms=3, color=f"C{place}")
        axes.loglog(HOW_MANY, largest, "-", marker="o", ms=4, color=f"C{place}", label=label)
    axes.set_xlabel("number of counts")
    axes.set_ylabel("error")


def _deniability(axes: Axes) -> None:
    for place, (q, line) in enumerate({0.0: ":", 0.5: "-", 0.9: "--"}.items()):
        asked = primitives.randomised_response([True], q=q)
        label = f"q = {q:g}, epsilon = {asked.guarantee.epsilon:.2g}"
        axes.plot(PRIORS, [asked.posterior(prior) for prior in PRIORS], line, color=f"C{place}", label=label)
    axes.set_xlabel("belief in a yes before")
    axes.set_ylabel("belief after a yes was said")


PICTURES: dict[str, tuple[Callable[[Axes], None], str]] = {
    "counts": (
        _counts,
        "Expected error of one count (dotted) and largest error of all (solid) at epsilon = 1, with delta = 1e-6 for "
        "Gaussian noise, where a person can be in all counts or in one.",
    ),
    "deniability": (_deniability, "What a yes in a survey with randomised response tells a reader, for three q."),
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("primitive-picture", PrimitivePicture)
    return {"parallel_read_safe": True}
