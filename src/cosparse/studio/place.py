"""Where browsers find the page: on this machine, on the machines around it, or behind a proxy."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Place:
    """What a proxy makes of the page's address."""

    path: str = ""  # where it stands on the proxy, without a slash at the end; "" is the root
    origin: str = ""  # the proxy's scheme and name: https://example.org; "" if it is to be taken from the requests

    @property
    def name(self) -> str:
        """The proxy's host, "" if unknown."""
        return urlsplit(self.origin).hostname or ""

    @classmethod
    def parse(cls, text: str | None) -> Place:
        """From a path, or a whole address for proxies that do not pass on the name by which they were asked.

        >>> Place.parse("/tools/cosparse/")
        Place(path='/tools/cosparse', origin='')
        >>> Place.parse("https://example.org/tools")
        Place(path='/tools', origin='https://example.org')
        """
        found = re.fullmatch(r"(https?://[\w.:\[\]-]+)?((?:/[\w.~-]+)*)/?", text or "")
        if found is None or ".." in found[2]:
            raise ValueError(
                f"--root-path: {text!r} is neither a path nor an address; give /tools/cosparse, or "
                "https://example.org/tools/cosparse"
            )
        return cls(found[2], found[1] or "")


def names(host: str, place: Place) -> frozenset[str] | None:
    """The names by which a browser may ask, or None if any will do, as for a server that others reach."""
    if not only_here(host) or (place.path and not place.name):  # a proxy whose name we do not know
        return None
    return frozenset(filter(None, {"127.0.0.1", "localhost", "::1", host, place.name}))


def only_here(host: str) -> bool:
    """Whether no other machine reaches an address to listen on.

    >>> only_here("127.0.0.1"), only_here("::1"), only_here("0.0.0.0"), only_here("example.org")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def addresses(host: str, port: int, place: Place) -> list[str]:
    """What to type into a browser, the best first. Where the page listens everywhere, by this machine's own names."""
    if place.origin:
        return [f"{place.origin}{place.path}/"]
    hosts = _given_away(host) if host in ("0.0.0.0", "::") else [host]
    end = f"{place.path}/" if place.path else ""
    return [f"http://{f'[{one}]' if ':' in one else one}:{port}{end}" for one in hosts]


def _given_away(host: str) -> list[str]:
    """The name and the address by which other machines reach this one; this machine's own if it has neither."""
    family, far = (socket.AF_INET6, "2001:db8::1") if ":" in host else (socket.AF_INET, "192.0.2.1")
    found = []
    with contextlib.suppress(OSError):  # of a name that means nothing even here
        socket.getaddrinfo(name := socket.gethostname(), None, family)
        found.append(name)
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:  # there may be no network
        probe.connect((far, 9))  # sends nothing; the system only says which of its addresses it would use
        found.append(probe.getsockname()[0])
    return found or ["::1" if ":" in host else "127.0.0.1"]
