"""Prepares what clients will need: before the ready line for the first requests of a group, then in idle moments for the rest.

The codec of one API version costs 50 us if an earlier process has kept its code (`groupmock_codec.kept_code`), and two milliseconds
otherwise. So kept codecs of the first requests are made before the server is ready, and all others when they are needed. Only on a machine
that has kept no code yet are the others compiled ahead, in idle moments, and kept.

The first request that needs a module imports it. An import takes a file descriptor, and peers can use up all of them, so the rest is
imported in idle moments as well. Until then some descriptors are kept free of connections (`listen.RESERVED`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import APIS
from groupmock_codec.kept_code import kept_code

from .. import core
from ..core import apis, work

if TYPE_CHECKING:
    from ..core.core import Core
    from .codecs import Codecs
    from .counters import Counters

Step = Callable[[], list[Any]]
"""A task for an idle moment that returns its follow-up tasks."""
Pair = tuple[int, int]
"""An API key and a version."""

FIRST: Final = (18, 10, 11, 14, 12)
"""The keys of the APIs of the coordinator that a member needs until it is in a group."""
OF_GROUPS: Final = (3, *FIRST, 68, 13, 8, 9, 2, 1, 0)
"""The keys of the APIs that clients of a group of either type need, in the order in which they send them."""
OF_ALL_GROUPS: Final = tuple(dict.fromkeys((*OF_GROUPS, *work.OF_GROUPS, *work.OF_SHARED_RECORDS)))
"""The keys of all APIs that ask about groups, such as those of share groups and streams groups. Only the newest versions of those that are
not in `OF_GROUPS` are compiled ahead."""
STOCK_CLIENTS: Final = (
    (18, 3), (3, 13), (10, 2), (11, 5), (14, 3), (12, 3), (9, 9), (2, 7), (1, 16), (18, 0), (3, 5), (10, 1), (9, 3), (13, 1),
)  # fmt: skip
"""The (API key, version) of the first requests of librdkafka 2 and aiokafka, in their order. Their codecs come first, because a client
that waits for a millisecond at the wrong moment loses one of its own ticks (50 ms in librdkafka)."""
OF_TOPICS: Final = (f"{core.__name__}.log.partition", "hashlib")
"""The modules that the first FindCoordinator or JoinGroup needs, because it creates the offsets topic."""
PAUSE_S: Final = 0.001
PAUSE_WHEN_BUSY_S: Final = 0.05
"""The pause after a step, if a request has come meanwhile, and between imports, which nobody waits for."""


class WarmUp:
    """The preparation of one server. `first` is called before the server is ready, `begin` on its loop, `cancel` at its end."""

    def __init__(self, core: Core, codecs: Codecs, counters: Counters) -> None:
        self._core, self._codecs, self._counters = core, codecs, counters
        self._pause = PAUSE_S
        self._next: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        """True if no step is left."""
        return self._next is None

    def first(self) -> None:
        """Make the codecs of a member's first requests, as far as their code was kept."""
        for key, version in self._newest():
            if key in FIRST and self._codecs.of(key, version).kept:
                self._prepare(key, version)

    def begin(self) -> None:
        """Do the other steps in idle moments of the running loop."""
        self._next = asyncio.get_running_loop().call_later(self._pause, self._go_on, self.steps())

    def cancel(self) -> None:
        """Cancel the steps that are left."""
        if self._next is not None:
            self._next.cancel()

    def steps(self) -> list[Step]:
        """Return the steps, with the first step at the end: codecs of stock clients and of the newest versions, older ones that were not
        kept, imports."""
        newest = self._newest()
        rows = [self._codecs.advertised[key] for key in self._served(OF_GROUPS)]
        older = [(row.key, version) for row in rows for version in range(row.highest - 1, row.lowest - 1, -1)]
        last = [pair for pair in older if pair not in newest]
        codecs = [partial(self._prepare, *pair) for pair in reversed(newest)]
        return [self._imports, partial(self._missing, last), *codecs, *(partial(_import, name) for name in reversed(OF_TOPICS))]

    def _served(self, keys: tuple[int, ...] = OF_ALL_GROUPS) -> list[int]:
        return [key for key in keys if key in self._codecs.advertised and key in apis.module_names()]

    def _newest(self) -> list[Pair]:
        """Return the versions that stock clients use, then the newest version of each API."""
        rows = {key: self._codecs.advertised[key] for key in self._served()}
        stock = [(key, version) for key, version in STOCK_CLIENTS if key in rows and rows[key].lowest <= version <= rows[key].highest]
        return list(dict.fromkeys([*stock, *((key, row.highest) for key, row in rows.items())]))

    def _go_on(self, todo: list[Step], handled: int | None = 0) -> None:
        """Do one step between two turns of an idle loop, so that no client has to wait for several.

        `handled` is the number of requests a moment ago; None: the loop was busy then and has had its pause. A step is postponed only
        once, because otherwise a client that pings all the time would leave all of them to the first member of a group."""
        busy = handled is not None and self._counters.handled != handled
        if todo and not busy:
            step = todo.pop()
            try:
                todo += step()
            except OSError:  # This fails while all file descriptors of the process are in use.
                todo.append(step)
                busy = True
        pause = PAUSE_WHEN_BUSY_S if busy else self._pause
        seen = None if busy else self._counters.handled
        self._next = asyncio.get_running_loop().call_later(pause, self._go_on, todo, seen) if todo else None

    def _prepare(self, key: int, version: int) -> list[Step]:
        self._core.behaviour(key)
        self._codecs.of(key, version).warm_up()
        return []

    def _missing(self, pairs: list[Pair]) -> list[Step]:
        """Return the steps that compile codecs whose code was not kept, and then keep it."""
        modules = [APIS[key].declaration.request.__module__ for key in self._served()]
        missing = [partial(self._prepare, *pair) for pair in reversed(pairs) if not self._codecs.of(*pair).kept]
        return [*(partial(_keep, module) for module in modules), *missing]

    def _imports(self) -> list[Step]:
        """Return the step that imports the first module that a request could need."""
        from .needed import modules_needed  # This import comes late, because nothing needs the module earlier.

        self._pause = PAUSE_WHEN_BUSY_S
        return [partial(_import_next, modules_needed(self._codecs.advertised)[::-1])]


def _keep(module: str) -> list[Step]:
    kept_code(module).write()
    return []


def _import(name: str) -> list[Step]:
    import_module(name)
    return []


def _import_next(names: list[str]) -> list[Step]:
    """Import the last of the modules that is not imported yet, and return the step for those before it. Most modules import others."""
    while names and names[-1] in sys.modules:
        names.pop()
    if not names:
        return []
    import_module(names[-1])
    return [partial(_import_next, names)]
