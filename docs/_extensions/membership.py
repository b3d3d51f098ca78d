"""The directive `membership-attack`: who is in the table, attacked while the pages are built, as picture and table."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib import rc_context
from sphinx.application import Sphinx
from verdicts import plain_table

from discreet.audit import membership_attack
from discreet.audit.membership_result import MEMBERSHIP_HEADERS, membership_picture
from mechanisms import STYLE, inline_svg

# fewer than the command takes, so that the pages are built in seconds; the limits are wider for it
DRAWS = 2000


class MembershipAttack(Directive):
    """A picture of all attacks, the numbers in it, and how they were made."""

    def run(self) -> list[nodes.Node]:
        """Attack, and give what was found."""
        found = membership_attack(draws=DRAWS)
        caption = (
            f"Table {found.table}, {DRAWS:,} releases of each of three tables at every epsilon. Bands: limits that "
            f"hold for all thresholds together at {found.confidence:.0%}."
        )
        with rc_context(STYLE):
            svg = inline_svg(membership_picture(found), caption)
        table = plain_table(MEMBERSHIP_HEADERS, [attack.cells() for attack in found.attacks])
        return [nodes.raw("", svg, format="html"), nodes.paragraph(text=caption, classes=["caption"]), table]


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("membership-attack", MembershipAttack)
    return {"parallel_read_safe": True}
