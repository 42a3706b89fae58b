"""Configuration of the documentation."""

project = "tvm-lite"
author = "the tvm-lite authors"
release = "0.1.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "tvm-lite"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True  # a property that "Attributes" lists as well is described once
suppress_warnings = ["myst.xref_missing"]
