"""Some commands last until the end of a `with` block, where another command undoes them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Final, ParamSpec

__tracebackhide__: Final = True
P = ParamSpec("P")


class Undo:
    """A command that lasts until the end of a `with` block, or until the command that undoes it."""

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        """Do nothing, because the command is in effect already."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._undo()


class AsyncUndo:
    """A command that lasts until the end of an `async with` block. It was awaited before the block."""

    def __init__(self, undo: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._undo = undo

    async def __aenter__(self) -> None:
        """Do nothing, because the command is in effect already."""

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._undo()


class AsyncLasting(Coroutine[Any, Any, AsyncUndo]):
    """A command that begins with an `async with` block and ends with it: `async with broker.hold("kitchen", "Stable"): ...`. If it is
    awaited instead, it lasts until the command that undoes it."""

    def __init__(self, begin: Coroutine[Any, Any, AsyncUndo]) -> None:
        self._begin = begin
        self._undo: AsyncUndo | None = None

    async def __aenter__(self) -> None:
        self._undo = await self._begin

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._undo is not None
        await self._undo.__aexit__(kind, error, trace)

    def __await__(self) -> Generator[Any, Any, AsyncUndo]:
        return self._begin.__await__()

    def send(self, value: Any, /) -> Any:
        return self._begin.send(value)

    def throw(self, *what: Any) -> Any:
        return self._begin.throw(*what)

    def close(self) -> None:
        self._begin.close()


def lasting(begin: Callable[P, Coroutine[Any, Any, AsyncUndo]]) -> Callable[P, AsyncLasting]:
    """Decorate a coroutine function, so that its coroutines can be awaited or entered by `async with`."""

    @functools.wraps(begin)
    def begun(*args: P.args, **kwargs: P.kwargs) -> AsyncLasting:
        return AsyncLasting(begin(*args, **kwargs))

    return begun
