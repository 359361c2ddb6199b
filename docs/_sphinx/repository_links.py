"""Links that are written for a reader of the repository, made to lead within the site."""

from __future__ import annotations

import os
import re
from typing import Any

# Files of the repository that are pages here.
PAGES = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md", "../README.md": "index.md",
         "../src/cosparse/operators/README.md": "operators.md", "../benchmarks/README.md": "benchmarks.md"}  # fmt: skip
# Links to other files of the repository become downloads, which MyST does by itself.
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=[)#])")


def lead(match: re.Match[str]) -> str:
    target = match[1]
    script = re.fullmatch(r"((?:\.\./)*)examples/(\w+)\.py", target)
    if script:
        return f"{script[1]}gallery/{script[2]}.rst"
    up, plain = re.match(r"((?:\.\./)*)(.*)", target).groups()
    return PAGES.get(target, PAGES.get("../" + plain, target) if up == "../../" else target)


def rewrite(app: Any, docname: str, source: list[str]) -> None:
    if os.fspath(app.env.doc2path(docname)).endswith(".md"):
        source[0] = LINK.sub(lead, source[0])


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True}
