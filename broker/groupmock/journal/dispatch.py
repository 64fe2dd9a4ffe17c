"""Pass journal rows to the methods of a reader that are marked for their class.

A reader marks the methods that take rows. The annotation of the parameter `row` says which rows a method takes, as it does for
`functools.singledispatch`:

    class Answers(RowReader):
        @takes
        def _answered(self, row: ReplyRow | AbandonedRow) -> None: ...

`feed` passes a row to its method. A reader ignores rows of a class that no method takes. That includes `UnknownRow`, which represents rows
of later versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeVar

from .read import UnknownRow
from .rows import ROWS, Row, kind_of

F = TypeVar("F", bound=Callable[..., Any])
CLASSES: Final[dict[str, type]] = {UnknownRow.__name__: UnknownRow} | {each.__name__: each for each in ROWS.values()}
MARK: Final = "__takes__"


def takes(method: F) -> F:
    """Mark a method of a `RowReader` that handles rows of the class in its annotation."""
    vars(method)[MARK] = [CLASSES[name] for name in method.__annotations__["row"].split(" | ")]
    return method


class RowReader:
    """A reader that handles journal rows one by one. `handlers` maps each class of rows to its method, `kinds` names the kinds of rows
    that a sink must ask for."""

    handlers: ClassVar[dict[type, Callable[..., Any]]] = {}
    kinds: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        marked = [each for each in vars(cls).values() if hasattr(each, MARK)]
        cls.handlers = cls.handlers | {taken: each for each in marked for taken in getattr(each, MARK)}
        cls.kinds = frozenset(kind_of(taken) for taken in cls.handlers if taken is not UnknownRow)

    def feed(self, row: Row | UnknownRow) -> Any:
        """Pass one row to the method for its class. Returns the method's result, or None if no method takes such rows."""
        take = self.handlers.get(row.__class__)
        return None if take is None else take(self, row)
