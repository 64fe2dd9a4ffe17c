"""How the parts of `Broker` (commands, faults) reach the cluster, which lives in a thread of its own."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ..running import Running

T = TypeVar("T")


class Calls(ABC):
    """From the thread of the caller."""

    @abstractmethod
    def _send(self, command: str, **arguments: Any) -> Future[None]:
        """Submit a command; done when it was performed."""

    @abstractmethod
    def _call(self, function: Callable[[], T]) -> T:
        """What it returns or raises in the cluster's thread."""

    @abstractmethod
    def _up(self) -> Running:
        """The running cluster. Raises RuntimeError when there is none."""

    @abstractmethod
    def _on(self) -> asyncio.AbstractEventLoop:
        """The cluster's loop."""

    def _command(self, command: str, **arguments: Any) -> None:
        self._send(command, **arguments).result()
