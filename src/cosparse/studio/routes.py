"""The page's own addresses: uploads, what a visitor may fetch, the pictures and scripts everyone gets."""

from __future__ import annotations

import secrets
from functools import cache
from importlib import resources
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.requests import ClientDisconnect

from cosparse.io.disk import shown_name
from cosparse.studio.page_pictures import EXAMPLES, example
from cosparse.studio.session import File, Visitors

KINDS = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


def add_routes(app: FastAPI, visitors: Visitors) -> None:
    """Put them before Gradio's."""

    @app.post("/upload")
    async def upload(request: Request) -> Response:
        token = request.scope["visitor"]
        room = visitors.room(token)
        name = shown_name(Path(unquote(request.headers.get("x-name", "file"))).name)[:120]
        too_large = f"{name}: is too large; at most {visitors.limits.upload_bytes // 1_000_000} MB can be uploaded"
        if room <= 0 or int(request.headers.get("content-length", 0)) > room:
            return JSONResponse({"error": too_large}, 413)
        path = visitors.folder / secrets.token_hex(16)
        key = ""
        try:
            with path.open("xb") as target:
                async for chunk in request.stream():
                    if not visitors.arrive(token, path, len(chunk)):
                        return JSONResponse({"error": too_large}, 413)
                    target.write(chunk)
            key = visitors.receive(token, File(path, name))
        except ClientDisconnect:  # the visitor is gone, which is no fault to be logged
            return Response(status_code=400)
        finally:
            visitors.arrived(path)
            if not key:
                path.unlink(missing_ok=True)
        return JSONResponse({"key": key})

    @app.get("/view/{key}/{name}")
    def view(request: Request, key: str, name: str) -> Response:
        file = visitors.file(request.scope["visitor"], key)
        if file is None or not file.there():
            return JSONResponse({"error": "no such file, or not yours"}, 404)
        headers = {"cache-control": "private, no-store"}
        return FileResponse(file.path, filename=file.name, content_disposition_type="inline", headers=headers)

    @app.get("/studio/{name}")
    def part(name: str) -> Response:
        stem, _, ending = name.rpartition(".")
        if ending == "jpg" and stem in EXAMPLES:
            return Response(_thumbnail(stem), media_type="image/jpeg")
        if ending in KINDS and name in _parts():
            return Response(_parts()[name], media_type=KINDS[ending])
        return JSONResponse({"error": "no such part"}, 404)


@cache
def _parts() -> dict[str, str]:
    """The scripts and styles, read once."""
    folder = resources.files("cosparse.studio") / "static"
    return {entry.name: entry.read_text("utf-8") for entry in folder.iterdir() if entry.is_file()}


@cache
def _thumbnail(name: str) -> bytes:
    from PIL import Image

    picture = Image.fromarray(example(name).pixels)
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    target = BytesIO()
    picture.crop((left, top, left + side, top + side)).resize((128, 128)).save(target, "JPEG", quality=85)
    return target.getvalue()
