"""Send the calls of a broker's methods to the cluster, which runs on a thread and an event loop of its own.

`Broker` is built on `Calls`, whose `_ask`, `_run`, `_wait` and `_command` block until the cluster has answered. `AsyncBroker` is built on
`AsyncCalls`, whose methods of the same names are coroutines; `make docs` writes async_broker.py from the methods of `Broker`.

The modules of this folder set `__tracebackhide__`, by which pytest hides their frames: a wait that failed shows the line of the test.
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
"""The `stacklevel` of a warning by `Calls._wait`: 1 is `_wait`, 2 the public method that called it, 3 the line of the test."""


class HasCluster(ABC):
    """The cluster to which blocking calls and coroutines are sent."""

    @abstractmethod
    def _up(self) -> Running:
        """Return the running cluster, or raise RuntimeError if none runs."""

    @abstractmethod
    def _on(self) -> asyncio.AbstractEventLoop:
        """Return the cluster's event loop."""


class Calls(HasCluster):
    """Blocking calls to the cluster, from any thread except the one on which the cluster runs."""

    def _ask(self, function: Callable[[], T]) -> T:
        """Call the function on the cluster's thread and return its result."""
        return _result(_posted(self._on(), function))

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine on the cluster's loop and return its result."""
        return _result(asyncio.run_coroutine_threadsafe(coroutine, self._on()))

    def _command(self, name: str, /, **arguments: Any) -> None:
        """Submit one command of the core. If it raises an error, nothing was changed."""
        self._ask(lambda: self._up().submit(Command(name, arguments)))

    def _wait(self, name: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine that waits for clients, perhaps for seconds. A public method of that `name` calls this directly.

        On a thread with an event loop it warns, because clients on that loop stand still and the wait may never end."""
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
    """The calls of `Calls` as coroutines, for an event loop of the caller's. Nothing happens before they are awaited."""

    async def _ask(self, function: Callable[[], T]) -> T:
        return await _awaited(_posted(self._on(), function))

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await _awaited(asyncio.run_coroutine_threadsafe(coroutine, self._on()))

    async def _command(self, name: str, /, **arguments: Any) -> None:
        await self._ask(lambda: self._up().submit(Command(name, arguments)))

    async def _wait(self, name: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await self._run(begin())


def _posted(loop: asyncio.AbstractEventLoop, function: Callable[[], T]) -> Future[T]:
    """Call a function on the thread of an event loop. The returned future gets its result or its error."""
    done: Future[T] = Future()

    def run() -> None:
        # The `await` was cancelled meanwhile, so the function is not called: its result could not be set (InvalidStateError).
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(function())
        except BaseException as error:  # The error is passed to the caller's thread.
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
    """Return an error without its traceback if groupmock declares its class, because the message says everything. Any other error is a
    defect of groupmock, to which the traceback leads."""
    return error.with_traceback(None) if type(error).__module__.partition(".")[0] == "groupmock" else error


def _with_cause(message: str, cause: str) -> str:
    """Insert the cause of an error after the first line of its message."""
    sentence, end, rest = message.partition("\n")
    return f"{sentence}\n{cause}{end}{rest}"


def _on_a_loop() -> bool:
    """True if the caller's thread runs an event loop. This is a separate function, so that the RuntimeError of the check is not the
    context of an error of the wait."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
