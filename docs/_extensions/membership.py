"""The directive `membership-attack`: a plot and a table of membership attacks that run during the build."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib import rc_context
from sphinx.application import Sphinx
from verdicts import plain_table

from discreet.audit import membership_attack
from discreet.audit.membership_result import MEMBERSHIP_HEADERS, membership_figure
from mechanisms import STYLE, inline_svg

# fewer than the command takes, so that the pages are built in seconds; the limits are wider for it
DRAWS = 2000


class MembershipAttack(Directive):
    """A plot of all attacks, its numbers, and how they were computed."""

    def run(self) -> list[nodes.Node]:
        """Run the attacks and return the plot and the table."""
        found = membership_attack(draws=DRAWS)
        caption = (
            f"Table {found.table}, {DRAWS:,} releases of each of three tables at every epsilon. Bands: limits that "
            f"hold for all thresholds together at {found.confidence:.0%}."
        )
        with rc_context(STYLE):
            svg = inline_svg(membership_figure(found), caption)
        table = plain_table(MEMBERSHIP_HEADERS, [attack.cells() for attack in found.attacks])
        return [nodes.raw("", svg, format="html"), nodes.paragraph(text=caption, classes=["caption"]), table]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("membership-attack", MembershipAttack)
    return {"parallel_read_safe": True}
