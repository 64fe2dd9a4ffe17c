"""Wait for a dead server to come back by itself, or restart it by the user's command."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from .tcp_broker import NoBroker, TcpBroker

LOOK_SECONDS: Final = 0.1
SHOWN: Final = 400
"""The number of final characters of a command's output that are shown."""
PATIENCE_SECONDS: Final = 10


@dataclass(frozen=True)
class Restarted:
    """The result of waiting for a dead server: whether it is back, and how."""

    back: bool
    how: str


class Restart:
    """Waits for the broker at its address to come back after a death. `command` restarts it (none: others do) and `seconds` limits the
    time.

    A command that stays in the foreground is the server: it is ended with the probe, or before it is started again.
    """

    def __init__(
        self,
        broker: TcpBroker,
        command: Sequence[str] = (),
        seconds: float = 30,
        *,
        clock: Callable[[], float] = time.monotonic,
        nap: Callable[[float], None] = time.sleep,
    ) -> None:
        self._broker, self._command, self._seconds = broker, tuple(command), seconds
        self._clock, self._nap = clock, nap
        self._process: subprocess.Popen[bytes] | None = None
        self._output = tempfile.TemporaryFile() if command else None  # noqa: SIM115  # open as long as the command may write

    def revive(self, left_seconds: float) -> Restarted:
        """Run the command if there is one, and wait at most `left_seconds` for the server."""
        began = self._clock()
        limit = max(min(self._seconds, left_seconds), 0)
        try:
            self._start()
        except OSError as why:
            return Restarted(False, f"{self._command[0]} (--restart) cannot be run: {why.strerror or why}")
        problem = self._waited(began + limit)
        took = self._clock() - began
        if problem is None:
            return Restarted(True, f"started again by --restart in {took:.1f} s" if self._command else f"it was back after {took:.1f} s")
        if not self._command:
            return Restarted(False, f"it did not come back within {limit:.0f} s (--wait; --restart COMMAND tells how to start it)")
        return Restarted(False, f"--restart did not bring it back within {limit:.0f} s (--wait): {problem}{self._said()}")

    def _start(self) -> None:
        if self._output is None:
            return
        self.close_process()
        self._output.seek(0)
        self._output.truncate()
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output)

    def _waited(self, end: float) -> str | None:
        """Return None when the server answers again, else the last problem."""
        while True:
            problem = self._answers()
            if problem is None or self._clock() >= end:
                return problem
            # Exit code 0 is no failure, because a command such as `docker restart` ends well before the server answers.
            if self._process is not None and self._process.poll() not in (None, 0):
                return f"the command ended with {self._process.returncode}"
            self._nap(LOOK_SECONDS)  # The server is polled, because it offers no event to wait for.

    def _answers(self) -> str | None:
        try:
            self._broker.connect_again()
        except NoBroker as problem:
            return str(problem)
        return None

    def _said(self) -> str:
        if self._output is None:
            return ""
        self._output.seek(0)
        text = " ".join(self._output.read().decode(errors="replace").split())
        return f"; it wrote: {text[-SHOWN:]}" if text else "; it wrote nothing"

    def close_process(self) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def close(self) -> None:
        self.close_process()
        if self._output is not None:
            self._output.close()
