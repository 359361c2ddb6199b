"""Operators from strangers."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from cosparse.operator import AnalysisOperator
from cosparse.studio.limits import Refused

BYTES = 16_000_000
ATOMS, PATCH = 4096, 32  # beyond these a repair would take hours


def operator_from(name: str, data: bytes, folder: Path) -> AnalysisOperator:
    """A validated operator. Only safetensors, which cannot hold code, and only of a size that works."""
    if not name.lower().endswith(".safetensors"):
        raise Refused(f"{name}: an operator's file ends with .safetensors; choose one that was learned here.")
    if len(data) > BYTES:
        raise Refused(f"{name}: is larger than any operator the page works with ({BYTES // 1_000_000} MB).")
    header = int.from_bytes(data[:8], "little")
    if len(data) < 10 or header > len(data) - 8 or data[8:9] != b"{":
        raise Refused(f"{name}: is damaged, or not a safetensors file.")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{secrets.token_hex(8)}.safetensors"
    try:
        path.write_bytes(data)
        operator = AnalysisOperator.load(path)
    except (ValueError, OverflowError, json.JSONDecodeError) as error:
        reason = str(error.__cause__ or error).replace(str(path), name)
        raise Refused(f"{name}: is not a cosparse operator ({reason}).") from None
    finally:
        path.unlink(missing_ok=True)
    if len(operator.matrix) > ATOMS or max(operator.patch_shape) > PATCH:
        raise Refused(f"{name}: has more than {ATOMS} atoms or patches over {PATCH}x{PATCH}; that would never finish.")
    if not operator.matrix.any(axis=1).all():
        raise Refused(f"{name}: has an atom that is zero everywhere.")
    return operator
