"""Arrays and words as a safetensors file, of which the same give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def packed(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """The file of some arrays and words.

    The library writes the words in an order of chance, another each time: here they are sorted.

    >>> import numpy as np
    >>> packed({"a": np.zeros(1, np.uint8)}, {"z": "1", "b": "2"})[8:44]
    b'{"__metadata__":{"b":"2","z":"1"},"a'
    """
    from safetensors.numpy import save

    blob: bytes = save(dict(arrays), dict(metadata))
    end = 8 + int.from_bytes(blob[:8], "little")
    header = json.loads(blob[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    words = {"__metadata__": header.pop("__metadata__"), **header}
    text = json.dumps(words, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of eight
    return len(text).to_bytes(8, "little") + text + blob[end:]
