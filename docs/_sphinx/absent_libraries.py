"""What needs a library that is not installed: examples are shown without output, adapters by their first words."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from runnable import source
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import cosparse

NAMES = {"sklearn": "scikit-learn", "skimage": "scikit-image", "cv2": "OpenCV"}


def named(packages: list[str]) -> str:
    return " and ".join(NAMES.get(name, name) for name in packages)


def note(app: Any, docname: str, source: list[str]) -> None:
    """Under the title of the page of an example that did not run."""
    folder, _, stem = docname.partition("/")
    absent = app.config.EXAMPLES.absent.get(stem, []) if folder == "gallery" else []
    if not absent:
        return
    logging.getLogger(__name__).info("%s is shown but did not run: no %s here", docname, named(absent))
    words = (
        f"Where these pages were built there was no {named(absent)}: the script is shown as it is, without its output."
    )
    lines = source[0].split("\n")
    under = next((number for number, line in enumerate(lines) if line and set(line) == {"="}), 0)
    source[0] = "\n".join([*lines[: under + 1], "", ".. note::", f"   {words}", "", *lines[under + 1 :]])


class Adapter(SphinxDirective):
    """`.. adapter:: cosparse.interop.torch torch`: the module's documentation, if the packages named are there."""

    required_arguments = 1
    optional_arguments = 4

    def run(self) -> list[nodes.Node]:
        module, *packages = self.arguments
        paths = source(Path(cosparse.__file__).parent, module.split(".")[1:])
        if not paths:
            raise self.error(f"there is no module {module}")
        absent = [name for name in packages if find_spec(name) is None]
        if not absent:
            text = f".. automodule:: {module}\n   :members:\n"
        else:
            first = (ast.get_docstring(ast.parse(paths[0].read_text(encoding="utf-8"))) or "").split("\n\n")[0]
            rest = f"*Where these pages were built there was no {named(absent)}; ``help({module})`` has the rest.*"
            text = f"**{module}**: {first}\n\n{rest}\n"
        return self.parse_text_to_nodes(text)


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("EXAMPLES", None, "")
    app.add_directive("adapter", Adapter)
    app.connect("source-read", note)
    return {"parallel_read_safe": True}
