"""A cluster's workers as what SciPy calls map-like: for training, whose gradients are sums over crops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cosparse.cluster.connection import check_workers
from cosparse.cluster.many_files import each

if TYPE_CHECKING:
    from distributed import Client


def workers(client: Client) -> Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]:
    """The `workers` of :func:`cosparse.refine_operator`: shares the crops of every step among those of a cluster.

        with cluster.connect("tcp://10.0.0.5:8786") as client:
            cosparse.refine_operator("staged", photographs, stages=5, workers=cluster.workers(client))

    The crops and the parameters are sent, a megabyte or two a step; the result is the same wherever they are worked on.
    A worker that dies is replaced by another.
    """
    check_workers(client)

    def spread(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        found = {}
        for (number, _), outcome in each(client, lambda pair: work(pair[1]), enumerate(items)):
            if isinstance(outcome, BaseException):
                raise outcome
            found[number] = outcome
        return [found[number] for number in range(len(found))]

    return spread
