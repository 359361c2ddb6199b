"""How the documentation is built: `make docs`.

Nothing is fetched. Links into the manuals of other projects need their inventories from the network: set
COSPARSE_DOCS_NETWORK=1 where there is one. Without it their names stay plain text.
"""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import cosparse

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_sphinx"))

import runnable  # noqa: E402

# Examples are drawn on one thread, whatever the machine: their processor seconds are then comparable.
os.environ.setdefault("COSPARSE_NUM_THREADS", "1")

project = "cosparse"
author = "The cosparse developers"
copyright = "the cosparse developers, BSD-3-Clause"
version = release = cosparse.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "plain_docstrings",
    "repository_links",
    "figure_tables",
    "absent_libraries",
    "whole_site",
]
exclude_patterns = ["_build", "_sphinx", "examples/*"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [
    # What docstrings say of types is prose; the manuals of other projects are linked with the network only.
    ("py:.*", r"(numpy|scipy|skimage|sklearn|torch|dask|distributed|zarr|typing|collections|pathlib|os)\..*"),
    (
        "py:(class|obj)",
        r"(int|float|bool|str|bytes|object|None|array|ndarray|optional|callable|mapping|sequence|dict|tuple|list)",
    ),
]
highlight_language = "text"  # indented blocks of Markdown: shell commands and output more often than Python

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4

# API
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Mathematics: one file of MathJax, served with the pages.
MATHJAX = Path(next(iter(find_spec("sphinx-mathjax-offline").submodule_search_locations)))
mathjax_path = "tex-svg.js"

# Other projects
if os.environ.get("COSPARSE_DOCS_NETWORK"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "skimage": ("https://scikit-image.org/docs/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "torch": ("https://docs.pytorch.org/docs/stable", None),
        "deepinv": ("https://deepinv.github.io/deepinv", None),
        "pylops": ("https://pylops.readthedocs.io/en/stable", None),
        "pyproximal": ("https://pyproximal.readthedocs.io/en/stable", None),
        "xarray": ("https://docs.xarray.dev/en/stable", None),
        "dask": ("https://docs.dask.org/en/stable", None),
        "distributed": ("https://distributed.dask.org/en/stable", None),
        "zarr": ("https://zarr.readthedocs.io/en/stable", None),
        "napari": ("https://napari.org/stable", None),
    }

# Examples and the figures of pages
EXAMPLES = runnable.Examples(HERE / "examples", Path(cosparse.__file__).parent)
EXAMPLES.sweep(HERE / "gallery")
shutil.rmtree(HERE / "api" / "generated", ignore_errors=True)  # pages of names that have gone would stay
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": EXAMPLES.pattern(),  # the others are shown, with a word on why they did not run
    "within_subsection_order": "runnable.Order",
    "backreferences_dir": "gallery/uses",
    "doc_module": ("cosparse",),
    "reference_url": {"cosparse": None},
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 3600,  # a busy machine's seconds tell nothing
    "reset_modules": ("matplotlib", "runnable.reset"),
}
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]
plot_include_source = True
plot_rcparams = runnable.STYLE
plot_apply_rcparams = True

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "cosparse"
html_static_path = ["_static", str(MATHJAX / "static" / "mathjax" / "tex-svg.js")]
html_css_files = ["cosparse.css"]
html_favicon = "_static/atom.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"start": [], "faq": [], "choosing": [], "coming-from": [], "how-it-works": [], "gallery/*": []}
html_theme_options = {
    "logo": {"text": "cosparse", "image_light": "_static/atom.svg", "image_dark": "_static/atom.svg", "alt_text": ""},
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
