"""The key of the door: a token that visitors must bring where others than this machine reach the page."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from html import escape

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cosparse.studio.place import Place, only_here

SHORTEST = 12  # characters: what is shorter is guessed
ASK = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>cosparse studio</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:30rem;margin:9rem auto;padding:1rem;color-scheme:light dark}}
input,button{{font:inherit;padding:.4rem .7rem}}</style>
<h1>cosparse studio</h1><p role="alert">{reason}</p>
<form method="get" action="{action}"><label>Token <input name="token" type="password" autofocus
autocomplete="current-password"></label> <button>Open</button></form></html>"""


class Key:
    """A token, and the cookie by which a browser that brought it once is known."""

    def __init__(self, token: str, port: int, place: Place) -> None:
        self.token, self.path = token, place.path or "/"
        self.cookie = f"cosparse-key-{port}"
        # Not the token itself: who reads a browser's cookies has the run of this page, but not of another.
        self._value = hashlib.sha256(f"cosparse {port} {token}".encode()).hexdigest()

    def opens(self, asked: HTTPConnection) -> bool:
        """Whether a request comes from a browser that has brought the token."""
        return hmac.compare_digest(asked.cookies.get(self.cookie, "").encode(), self._value.encode())

    def answer(self, asked: HTTPConnection) -> Response:
        """To all others: the page, if they bring it now, without it in the address; else what is missing."""
        given, inside = asked.query_params.get("token"), f"{self.path.rstrip('/')}/"
        if given is not None and hmac.compare_digest(given.encode(), self.token.encode()):
            reply: Response = RedirectResponse(inside, 303)
            scheme = asked.headers.get("x-forwarded-proto", str(asked.scope["scheme"])).split(",")[0].strip()
            reply.set_cookie(
                self.cookie, self._value, path=self.path, httponly=True, samesite="strict", secure=scheme == "https"
            )
            return reply
        reason = "This page is open to those who have its token: whoever started it was shown it."
        if given is not None:
            reason = "That is not the token of this page. Whoever started it was shown it."
        return HTMLResponse(ASK.format(reason=escape(reason), action=escape(inside)), 401)


def chosen_token(token: str | None, host: str) -> str | None:
    """The token of a page that listens on an address: as it is given, made up, or none; None where it must be given.

    >>> chosen_token(None, "127.0.0.1"), chosen_token("none", "0.0.0.0")
    (None, None)
    """
    if token is None and not only_here(host):
        raise ValueError(
            f"--host {host} lets everyone in who reaches this machine, to use its processors and its memory; give "
            "--token auto (the address that is printed then has one), --token and a word of your own, or --token none "
            "if only a proxy that asks for a password can reach it"
        )
    if token in (None, "none"):
        return None
    if token == "auto":
        return secrets.token_urlsafe(24)
    if len(token) < SHORTEST or not token.isprintable() or " " in token:
        raise ValueError(f"--token: must have {SHORTEST} characters or more, and no space; auto makes one up")
    return token
