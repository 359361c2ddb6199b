"""What needs a library that is not installed here.

Examples are shown with what they said and drew in an environment beside this one, if there is one (elsewhere.py), else
without. Adapters are documented from their sources, with the library mocked.
"""

from __future__ import annotations

import inspect
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import elsewhere
from docutils import nodes
from runnable import source
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery.utils import scale_image

import cosparse

NAMES = {"sklearn": "scikit-learn", "skimage": "scikit-image", "cv2": "OpenCV"}


def named(packages: list[str]) -> str:
    return " and ".join(NAMES.get(name, name) for name in packages)


def run_elsewhere(app: Any) -> None:
    """Run what cannot run here, where it can; and let the gallery show its first picture."""
    gallery = Path(app.srcdir) / "gallery"
    for stem, absent in app.config.EXAMPLES.absent.items():
        found = absent and elsewhere.ran(
            Path(app.srcdir) / "examples" / f"{stem}.py", absent, gallery / "elsewhere" / stem
        )
        drawn = elsewhere.pictures(found) if found else []
        if drawn:
            scale_image(drawn[0], gallery / "images" / "thumb" / f"sphx_glr_{stem}_thumb.png", 400, 280)


def note(app: Any, docname: str, source: list[str]) -> None:
    """On the page of an example that did not run here: why, or what it did elsewhere."""
    folder, _, stem = docname.partition("/")
    absent = app.config.EXAMPLES.absent.get(stem, []) if folder == "gallery" else []
    if not absent:
        return
    outputs = Path(app.srcdir) / "gallery" / "elsewhere" / stem
    if (outputs / "digest").is_file():
        source[0] = with_outputs(source[0], stem, outputs)
        return
    logging.getLogger(__name__).info("%s is shown but did not run: no %s here", docname, named(absent))
    words = (
        f"Where these pages were built there was no {named(absent)}: the script is shown as it is, without its output."
    )
    lines = source[0].split("\n")
    under = next((number for number, line in enumerate(lines) if line and set(line) == {"="}), 0)
    source[0] = "\n".join([*lines[: under + 1], "", ".. note::", f"   {words}", "", *lines[under + 1 :]])


def with_outputs(page: str, stem: str, outputs: Path) -> str:
    """A page of the gallery with pictures and words of its script after the last of the code, as of those run here."""
    body, mark, footer = page.partition(f".. _sphx_glr_download_gallery_{stem}.py:")
    more = [
        f".. image-sg:: /gallery/elsewhere/{stem}/{path.name}\n   :alt: what the script draws\n"
        f"   :srcset: /gallery/elsewhere/{stem}/{path.name}\n   :class: sphx-glr-single-img\n"
        for path in elsewhere.pictures(outputs)
    ]
    said = (outputs / "said.txt").read_text(encoding="utf-8").strip()
    if said:
        lines = "\n".join(f"   {line}" for line in said.splitlines())
        more.append(f".. rst-class:: sphx-glr-script-out\n\n.. code-block:: none\n\n{lines}\n")
    return body + "\n".join(more) + "\n\n" + mark + footer


class Adapter(SphinxDirective):
    """`.. adapter:: cosparse.interop.torch torch`: the module's documentation; packages named may be absent."""

    required_arguments = 1
    optional_arguments = 4

    def run(self) -> list[nodes.Node]:
        module, *packages = self.arguments
        if not source(Path(cosparse.__file__).parent, module.split(".")[1:]):
            raise self.error(f"there is no module {module}")
        text = f".. automodule:: {module}\n   :members:\n"
        absent = [name for name in packages if find_spec(name) is None]
        if not absent:
            return self.parse_text_to_nodes(text)
        before = set(sys.modules)
        with mock(absent):
            found = self.parse_text_to_nodes(text)
        for name in set(sys.modules) - before:  # those that were imported with a mock in them
            if name.startswith("cosparse.interop"):
                del sys.modules[name]
        return found


def signature(app: Any, what: str, name: str, obj: Any, options: Any, given: str, returns: str) -> Any:
    """That of a class whose base is mocked, which has another's: by its own `__init__`."""
    made = vars(obj).get("__init__") if what == "class" and getattr(obj, "__sphinx_mock__", False) else None
    if made is None:
        return None
    parameters = list(inspect.signature(made).parameters.values())[1:]
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    return str(inspect.Signature(plain)), returns


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("EXAMPLES", None, "")
    app.add_directive("adapter", Adapter)
    app.connect("builder-inited", run_elsewhere, priority=900)  # after the gallery has made its pages
    app.connect("source-read", note)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
