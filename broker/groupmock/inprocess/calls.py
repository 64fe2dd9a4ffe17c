"""How the parts of a broker reach the cluster, which lives on a thread and an event loop of its own.

Each method stands once and says what is to be done there; `_do` makes of it what the caller wants: `Broker` waits for it and gives the
result, `AsyncBroker` gives a coroutine, which does nothing before it is awaited. What a method gives is therefore a type parameter of
its class: `R` is None for the one, a coroutine of None for the other.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..core.events import Command

if TYPE_CHECKING:
    from ..running import Running

T = TypeVar("T")
R = TypeVar("R")


class Calls(ABC, Generic[R]):
    """From the thread of the caller. `R`: what a method gives that has nothing to say."""

    @abstractmethod
    def _do(self, begin: Callable[[], Future[Any]]) -> Any:
        """What `begin` promises: waited for, or as a coroutine that begins when it is awaited."""

    @abstractmethod
    def _up(self) -> Running:
        """The running cluster. Raises RuntimeError when there is none."""

    @abstractmethod
    def _on(self) -> asyncio.AbstractEventLoop:
        """The cluster's loop."""

    def _post(self, function: Callable[[], T]) -> Future[T]:
        """What the function returns or raises on the cluster's thread."""
        done: Future[T] = Future()

        def run() -> None:
            # An `await` that was cancelled meanwhile: nothing is done for it, and a result could not be set (InvalidStateError).
            if not done.set_running_or_notify_cancel():
                return
            try:
                done.set_result(function())
            except BaseException as error:  # belongs to the caller's thread
                done.set_exception(error)

        self._on().call_soon_threadsafe(run)
        return done

    def _call(self, function: Callable[[], T]) -> T:
        """The same, waited for (a turn of the cluster's loop), for what is a property on both."""
        return self._post(function).result()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """What the coroutine returns or raises on the cluster's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._on())

    def _command(self, name: str, /, **arguments: Any) -> R:
        """One command of the cluster. Raises what it raises; nothing was changed then."""

        def submit() -> None:
            self._up().submit(Command(name, arguments))

        done: R = self._do(lambda: self._post(submit))
        return done
