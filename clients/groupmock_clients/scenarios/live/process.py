"""One member process of the live stage: start it, give it orders, read its events, end it."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ..play import Missed
from .forked_members import forkserver_of
from .member_spec import MemberSpec

LEAVING_S: Final = 20.0
LOOK_S: Final = 0.02
TAIL: Final = 1500
Hear = Callable[[str, str, dict[str, Any]], None]


class MemberProcess:
    """A running member process of the stage. `hear(member, event, facts)` is called for each of its events, on a thread of its own. Its
    stderr goes to `log`."""

    def __init__(self, spec: MemberSpec, log: Path, hear: Hear) -> None:
        self.spec = spec
        self._log, self._hear = log, hear
        self._status: int | None = None
        self._server = forkserver_of(spec.library)
        self._child = self._server.spawn(spec, log)
        self._listening = threading.Thread(target=self._listen, name=f"hear-{spec.name}", daemon=True)
        self._listening.start()

    def check(self) -> None:
        """Raise Missed with the end of its log if the process has ended by itself."""
        if not self._listening.is_alive() and self._ended():
            raise Missed(f"member {self.spec.name} ended by itself with status {self._status}:\n{self.tail()}")

    def tail(self) -> str:
        return self._log.read_text(errors="replace")[-TAIL:]

    def subscribe(self, topics: Sequence[str]) -> None:
        """Order the member to change its subscription. Raises Missed if the process has ended."""
        try:
            self._child.orders.write(json.dumps({"subscribe": list(topics)}) + "\n")
            self._child.orders.flush()
        except OSError:
            self._listening.join()
            self.check()

    def kill(self) -> None:
        """Send SIGKILL and wait until the process is dead and all its events were read. May be called again."""
        try:
            if not self._ended():
                self._server.signal(self._child, signal.SIGKILL)
            self._over(None)
        except Missed:
            self._let_go()

    def leave(self) -> None:
        """Send SIGTERM and wait for the end. Raises Missed if it fails."""
        try:
            if not self._ended():
                self._server.signal(self._child, signal.SIGTERM)
            over = self._over(LEAVING_S)
        except Missed:
            self._let_go()
            raise
        if not over:
            self.kill()
            raise Missed(f"member {self.spec.name} did not leave within {LEAVING_S:g} s:\n{self.tail()}")
        if self._status:
            raise Missed(f"member {self.spec.name} ended with status {self._status}:\n{self.tail()}")

    def _let_go(self) -> None:
        """Release a member whose fork server is gone, so that nobody can send the member a signal. It ends when its orders do."""
        self._child.orders.close()
        self._listening.join(LEAVING_S)
        self._child.events.close()

    def _ended(self) -> bool:
        if self._status is None:
            self._status = self._server.status(self._child)
        return self._status is not None

    def _over(self, patience: float | None) -> bool:
        """Wait until the process has ended and its events were read. Returns False after `patience` seconds."""
        end = None if patience is None else time.monotonic() + patience
        self._listening.join(patience)
        while not self._ended():
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(LOOK_S)
        for stream in (self._child.orders, self._child.events):
            try:
                stream.close()
            except BrokenPipeError:
                pass  # The process may have ended without reading its last order.
        return True

    def _listen(self) -> None:
        for line in self._child.events:
            try:
                facts: dict[str, Any] = json.loads(line)
            except ValueError:
                continue  # SIGKILL may have ended the process in the middle of a line.
            self._hear(self.spec.name, str(facts.pop("event")), facts)
