"""Configuration of the documentation. Neither the build nor the pages fetch anything from a network."""

from __future__ import annotations

import sys
from pathlib import Path

import discreet

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "discreet"
version = release = discreet.__version__
copyright = "the discreet authors"  # noqa: A001  # the name that Sphinx requires
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "commands",
    "mathml",
    "membership",
    "mechanisms",
    "mutants",
    "primitive_pictures",
    "proofs",
    "verdicts",
]
exclude_patterns = ["_build", "images/*.md"]

# text
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "dollarmath"]
html_math_renderer = "mathml"
language = "en"
# docstrings write names in single backquotes
default_role = "literal"
# straight quotes, so that readers can copy what they see
smartquotes = False

# reference
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 60
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# pages
html_theme = "furo"
html_title = f"discreet {release}"
html_static_path = ["_static"]
html_css_files = ["discreet.css"]
html_copy_source = False
html_show_sourcelink = False
# outputs are in ```text blocks and have no copy button
copybutton_selector = "div:not(.highlight-text) > div.highlight pre"
pygments_style = "default"
pygments_dark_style = "monokai"
