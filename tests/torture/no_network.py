"""No network: a plugin for pytest (`-p torture.no_network`), and for any process that calls :func:`watch`.

Python tells of every connection, datagram and name to be looked up. What would leave this machine is refused and noted,
and tests that ran into it fail at the end, also where the error was swallowed. Addresses of documentation (RFC 5737,
3849) may be "connected" to by datagrams, which sends nothing: so a machine is asked for its own address.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import Any

import pytest

EVENTS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
DOCUMENTED = [ipaddress.ip_network(text) for text in ("192.0.2.0/24", "2001:db8::/32")]
tried: list[str] = []  # what would have left the machine


def stays(host: object) -> bool:
    """Whether an address is this machine's own."""
    if host in (None, "", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def told(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook; it cannot be taken away again."""
    if event not in EVENTS:
        return
    if event.startswith("socket.get"):
        host = arguments[0]
    else:
        own, address = arguments[0], arguments[1]
        if not isinstance(address, tuple):
            return  # a socket of the file system
        host = address[0]
        if own.type == socket.SOCK_DGRAM and event == "socket.connect" and _documented(host):
            return
    if not stays(host):
        tried.append(f"{event} {host!r}")
        raise OSError(f"no network here: {event} {host!r}")


def _documented(host: str) -> bool:
    try:
        return any(ipaddress.ip_address(host) in network for network in DOCUMENTED)
    except ValueError:
        return False


def watch() -> None:
    """From now on, until the process ends."""
    sys.addaudithook(told)


def pytest_configure() -> None:
    """Only where this is a plugin: pytest imports all modules to look for examples in them."""
    watch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Any:
    """What a test tried is its fault."""
    result = yield
    if tried:
        said, tried[:] = ", ".join(tried), []
        pytest.fail(f"{item.nodeid} reached for the network: {said}")
    return result
