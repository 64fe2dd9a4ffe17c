"""How the parts of a broker reach the cluster, which lives on a thread and an event loop of its own.

Each method stands once and says what is to be done there; `_do` makes of it what the caller wants: `Broker` waits for it and gives the
result, `AsyncBroker` gives a coroutine, which does nothing before it is awaited. What a method gives is therefore a type parameter of
its class: `R` is None for the one, a coroutine of None for the other. Whatever asks the cluster goes this way, properties too; what is
known without asking (an address, a seed) is a plain property of both.

The modules of this folder set `__tracebackhide__`, by which pytest leaves their frames out: a wait that failed shows the line of the test.
"""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ..core.events import Command

if TYPE_CHECKING:
    from ..server.running import Running

__tracebackhide__: Final = True
T = TypeVar("T")
Later = Coroutine[Any, Any, T]
R = TypeVar("R")
"""What a method gives that has nothing to say: None, or a coroutine of it. The others alike, for what it says."""
Text = TypeVar("Text")
Texts = TypeVar("Texts")
Number = TypeVar("Number")
ConfigValues = Mapping[str, str | int | float | bool]


def said(error: BaseException) -> BaseException:
    """An error to be raised on the caller's side. Of one that groupmock declares, the text says it all: the way it took on the cluster's
    thread is left out. Anything else would be a mistake in groupmock, to which that way leads."""
    return error.with_traceback(None) if type(error).__module__.partition(".")[0] == "groupmock" else error


def config_texts(configs: ConfigValues | None) -> dict[str, str]:
    """Kafka's configs are texts. Raises ValueError for what is no mapping."""
    from ..data.seed import as_texts

    if configs is not None and not isinstance(configs, Mapping):
        raise ValueError(f'configs are a mapping: {{"retention.ms": 5}}, not {configs!r}')
    return as_texts(configs or {})


def called() -> tuple[str, int]:
    """The name of the method that the user called, which is the outermost function of this folder, and the `stacklevel` of the user's line
    for a warning by the caller of this function."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_back.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return frame.f_code.co_name, level + 1


class Calls(ABC, Generic[R]):
    """From the thread of the caller. `R`: what a method gives that has nothing to say."""

    @abstractmethod
    def _do(self, begin: Callable[[], Future[Any]]) -> Any:
        """What `begin` promises: waited for, or as a coroutine that begins when it is awaited."""

    def _wait(self, begin: Callable[[], Future[Any]]) -> Any:
        """The same of what waits for clients, perhaps for seconds."""
        return self._do(begin)

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

    def _ask(self, function: Callable[[], Any]) -> Any:
        """What the function returns on the cluster's thread, as the caller wants it: a turn of the cluster's loop away."""
        return self._do(lambda: self._post(function))

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """What the coroutine returns or raises on the cluster's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._on())

    def _command(self, name: str, /, **arguments: Any) -> R:
        """One command of the cluster. Raises what it raises; nothing was changed then."""

        def submit() -> None:
            self._up().submit(Command(name, arguments))

        done: R = self._do(lambda: self._post(submit))
        return done
