"""Render formulas as MathML, which browsers display without scripts, images or downloads."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_FUNCTION_NAME = re.compile(r"<mi>([a-z]{2,})</mi>")
_BAR = re.compile(r"<mo[^>]*>\|</mo>")


def mathml(formula: str, as_block: bool = False) -> str:
    """Convert a formula, with thin spaces around function names and none inside absolute value bars."""
    plain = tex2mathml(formula, as_block=as_block)
    named = _FUNCTION_NAME.sub(r'<mo lspace="0.1667em" rspace="0.1667em">\1</mo>', plain)
    return _BAR.sub('<mo lspace="0" rspace="0" stretchy="false">|</mo>', named)


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Render an inline formula."""
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def display(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Render a displayed formula."""
    translator.body.append(f"<div class='math'>{mathml(node.astext(), as_block=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
