"""How a broker's methods reach the cluster, which lives on a thread and an event loop of its own.

The methods of `Broker` are built on `Calls`, whose `_ask`, `_run`, `_wait` and `_command` block until the cluster has answered.
`AsyncBroker` (async_broker.py, which a program writes from the methods of `Broker`) is built on `AsyncCalls`, whose methods of the same
names are coroutines.

The modules of this folder set `__tracebackhide__`, by which pytest leaves their frames out: a wait that failed shows the line of the test.
"""

from __future__ import annotations

import asyncio
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..core.events import Command
from .errors import FaultNotSeen, GroupTimeout

if TYPE_CHECKING:
    from ..server.running import Running

__tracebackhide__: Final = True
T = TypeVar("T")
BLOCKS: Final = (
    "{blocks} the event loop of this thread, so that clients on that loop {stand} still meanwhile: "
    "await groupmock_async.{name}(...), or that of AsyncBroker(broker)"
)
LEVEL_OF_THE_TEST: Final = 3
"""`stacklevel` of a warning by `Calls._wait`: 1 is that method, 2 the public method that called it, 3 the line of the test."""


class HasCluster(ABC):
    """What calls of both kinds go to."""

    @abstractmethod
    def _up(self) -> Running:
        """The running cluster. Raises RuntimeError when there is none."""

    @abstractmethod
    def _on(self) -> asyncio.AbstractEventLoop:
        """The cluster's loop."""


class Calls(HasCluster):
    """Blocking calls to the cluster, from any other thread than the cluster's."""

    def _ask(self, function: Callable[[], T]) -> T:
        """What the function returns or raises on the cluster's thread."""
        return _result(_posted(self._on(), function))

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns or raises on the cluster's loop."""
        return _result(asyncio.run_coroutine_threadsafe(coroutine, self._on()))

    def _command(self, name: str, /, **arguments: Any) -> None:
        """Submit one command of the core. Raises what it raises; nothing was changed then."""
        self._ask(lambda: self._up().submit(Command(name, arguments)))

    def _wait(self, name: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine that waits for clients, perhaps for seconds. To be called by a public method itself, of that `name`.

        It warns where that stops an event loop, because what is waited for cannot happen if the clients run on that loop.
        """
        if not _on_a_loop():
            return self._run(begin())
        warning = f"{name}(...) {BLOCKS.format(blocks='blocks', stand='stand', name=name)}"
        warnings.warn(warning, RuntimeWarning, LEVEL_OF_THE_TEST)
        try:
            return self._run(begin())
        except (GroupTimeout, FaultNotSeen) as late:
            cause = f"likely cause: {name}(...) {BLOCKS.format(blocks='blocked', stand='stood', name=name)}"
            late.args = (_with_cause(str(late), cause),)
            if isinstance(late, GroupTimeout):
                late.missed = _with_cause(late.missed, cause)
            raise late from None


class AsyncCalls(HasCluster):
    """The same calls as coroutines, for a loop of the caller's. Nothing happens before they are awaited."""

    async def _ask(self, function: Callable[[], T]) -> T:
        return await _awaited(_posted(self._on(), function))

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await _awaited(asyncio.run_coroutine_threadsafe(coroutine, self._on()))

    async def _command(self, name: str, /, **arguments: Any) -> None:
        await self._ask(lambda: self._up().submit(Command(name, arguments)))

    async def _wait(self, name: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await self._run(begin())


def _posted(loop: asyncio.AbstractEventLoop, function: Callable[[], T]) -> Future[T]:
    """What the function returns or raises on the thread of that loop."""
    done: Future[T] = Future()

    def run() -> None:
        # An `await` that was cancelled meanwhile: nothing is done for it, and a result could not be set (InvalidStateError).
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(function())
        except BaseException as error:  # belongs to the caller's thread
            done.set_exception(error)

    loop.call_soon_threadsafe(run)
    return done


def _result(done: Future[T]) -> T:
    if (error := done.exception()) is not None:
        raise _own(error)
    return done.result()


async def _awaited(done: Future[T]) -> T:
    try:
        return await asyncio.wrap_future(done)
    except Exception as error:
        raise _own(error)  # noqa: B904  # the same error, not one more


def _own(error: BaseException) -> BaseException:
    """An error to be raised on the caller's side. Of one that groupmock declares, the text says it all: the way it took on the cluster's
    thread is left out. Anything else would be a mistake in groupmock, to which that way leads."""
    return error.with_traceback(None) if type(error).__module__.partition(".")[0] == "groupmock" else error


def _with_cause(told: str, cause: str) -> str:
    """With the cause behind the first line."""
    sentence, end, rest = told.partition("\n")
    return f"{sentence}\n{cause}{end}{rest}"


def _on_a_loop() -> bool:
    """Does the caller's thread run an event loop? Asked here, so that no error of the wait has this one as its context."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
