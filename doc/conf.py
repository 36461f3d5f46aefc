"""Configuration of Sphinx for the documentation.

``python -m pip install ".[docs]" && python -P -m sphinx -W doc doc/_build/html`` builds
the site without a network; ``-t quick`` builds it without running the examples.
"""

import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import gallery  # noqa: E402, in _ext

import sktemper  # noqa: E402

project = "sktemper"
author = "The sktemper developers"
release = version = sktemper.__version__
copyright = f"{author}; version {release}, BSD 3-Clause licence"
with Path(__file__).parents[1].joinpath("pyproject.toml").open("rb") as file:
    urls = tomllib.load(file)["project"].get("urls", {})

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "docstrings",
    "estimators",
    "live_report",
    "mathml",
    "names",
    "offline",
    "repository_links",
    "thumbnails",
]
exclude_patterns = ["_build", "_ext", "**/*.ipynb", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = False

# -- Markdown --------------------------------------------------------------------------

myst_enable_extensions = [
    "colon_fence",
    "deflist",
    "dollarmath",
    "attrs_inline",
    "substitution",
]
myst_substitutions = {
    "issues": f"an [issue]({urls['Issues']})"
    if "Issues" in urls
    else "an issue of the repository, which is not public yet"
}
myst_heading_anchors = 4

# -- the reference ---------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# A method needs no example, no extended summary and no "See Also".  Results may have
# names, as in scikit-learn.
numpydoc_validation_checks = {"all", "EX01", "ES01", "SA01", "RT02", "GL01"}
# In models and policies, one line is enough for a method that overrides another method.
# Named tuples document attributes instead of parameters.
numpydoc_validation_exclude = {
    r"^sktemper\.(?:base|model|moves|noise|learning_rates|renewals|schedules|tempering)\.\w+\.",
    r"^sktemper\.(?:base|model)\.",
    r"^sktemper\.metrics\.\w+_scorer$",  # objects, whose class is documented
    r"^sktemper\.(?:moves\.Proposal|schedules\.(?:Clock|Plan))$",
    # results, whose attributes are documented
    r"^sktemper\.inspection\.(?:TopicRegression|WordContrasts)$",
    r"^sktemper\.model_selection\.(?:LikelihoodRatioTest|TemperaturePath)$",
}

# -- the gallery -----------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"poisson_kernel",
    "within_subsection_order": "FileNameSortKey",
    "reset_argv": "gallery.arguments",
    "image_scrapers": ("gallery.pictures",),
    "reset_modules": (),
    "matplotlib_animations": False,
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("sktemper",),
    "first_notebook_cell": gallery.FIRST_CELL,
    "min_reported_time": 1,
    "plot_gallery": not tags.has("quick"),  # noqa: F821, Sphinx has it there,
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}

# -- the pages -------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "sktemper"
html_sidebars = dict.fromkeys(("changes", "contributing", "decisions"), [])
html_static_path = ["_static"]
html_css_files = ["sktemper.css"]
html_js_files = ["unfold.js"]
html_favicon = "_static/favicon.svg"
highlight_language = "none"  # of blocks without a language, such as outputs
html_copy_source = False
html_show_sourcelink = False
# Tables of contents show `fit()`, because there is no space for `AnnealedLDA.fit()`.
toc_object_entries_show_parents = "hide"
# The blank line that ends a doctest is not shown.
highlight_options = {name: {"stripnl": True} for name in ("python", "pycon")}
html_theme_options = {
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": f"sktemper {release}"},
    "icon_links": [
        {"name": "Source", "url": urls[name], "icon": "fa-solid fa-code-branch"}
        for name in ("Source",)
        if name in urls
    ],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
