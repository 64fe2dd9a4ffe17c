"""One member: a process of a stock client that tells events on stdout and takes orders on stdin (protocol: ../README.md)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from .telling import Mismatch, wait

Event = dict[str, Any]
ENDS = ("leave", "close")
"""Orders after which the process ends."""


class Member:
    """A started member. `command` is its command line, `wish` what it is to be, `log` the file for its stderr."""

    def __init__(self, command: list[str], wish: dict[str, object], log: Path) -> None:
        self.name, self.wish = str(wish["name"]), wish
        self.log = log
        self._events: list[Event] = []
        self._expected_end = False
        with log.open("ab") as sink:
            self._process = subprocess.Popen(command, env=os.environ | {"MEMBER": json.dumps(wish)}, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=sink, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                self._events.append(json.loads(line))
            except ValueError:
                self._events.append({"event": "noise", "line": line.rstrip()})

    def events(self, kind: str) -> list[Event]:
        """What it told of that kind, oldest first. Raises Mismatch when the member failed or ended unasked."""
        if not self._expected_end and self._process.poll() is not None:
            self._reader.join(2)
            tail = self.log.read_text(errors="replace")[-1500:]
            why = [each.get("why") for each in self._events if each["event"] in ("failed", "crashed")]
            raise Mismatch(f"member {self.name} ended with status {self._process.returncode}: {why or tail}")
        return [each for each in list(self._events) if each["event"] == kind]

    def last(self, kind: str, field: str, default: Any) -> Any:
        """`field` of the latest event of that kind."""
        found = self.events(kind)
        return found[-1][field] if found else default

    @property
    def client_said(self) -> str:
        """Name and version of the client library, as the library says; told by a dead member too."""
        return next((str(each["client"]) for each in self._events if each["event"] == "ready"), "")

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def ended_by_itself(self) -> bool:
        """It ended, and nobody asked for it."""
        return not self.alive and not self._expected_end

    def has_said(self, kind: str) -> bool:
        """An event of that kind, whether it lives or not."""
        return any(each["event"] == kind for each in list(self._events))

    def complaints(self) -> list[str]:
        """What it said of its troubles, without asking whether it lives."""
        return [f"{each['event']}: {each.get('why')}" for each in list(self._events) if each["event"] in ("trouble", "failed")]

    def ask(self, word: str) -> None:
        """Give an order and wait for nothing; a process that is gone takes none."""
        assert self._process.stdin is not None
        self._expected_end = self._expected_end or word in ENDS
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()

    def held(self) -> list[int]:
        """Partitions held, as last told."""
        return list(self.last("holds", "partitions", []))

    def records(self) -> list[tuple[int, str]]:
        """(partition, value) of every record that its application got, in that order."""
        return [(each["partition"], each["value"]) for each in self.events("record")]

    def trouble(self) -> object:
        """For the text of a failure: what else the member said last."""
        rest = [each for each in self._events if each["event"] not in ("record", "ready")]
        return f"{self.name}: {rest[-4:]} {self.log.read_text(errors='replace')[-400:]}"

    def order(self, word: str, answer: str) -> None:
        """Give an order and wait for its answer."""
        before = len(self.events(answer))
        assert self._process.stdin is not None
        self._expected_end = word in ENDS
        try:
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()
        except OSError as gone:
            raise Mismatch(f"member {self.name} took no order: {gone}") from gone
        wait(f"{self.name} to answer {word!r}", lambda: len(self.events(answer)) > before, self.trouble)

    def commit(self) -> None:
        """Commit the position of what it holds."""
        self.order("commit", "committed")

    def leave(self) -> None:
        """Close the client; a dynamic member leaves the group."""
        self.order("leave", "left")
        self.kill()

    def close(self) -> None:
        """Close a Streams instance as its default is: a static one keeps its place in the group."""
        self.order("close", "left")
        self.kill()

    def pause(self) -> None:
        """SIGSTOP: it does nothing, its connections stay open."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL: the group hears nothing of it."""
        self._expected_end = True
        self._process.kill()
        self._process.wait()
        self._reader.join(2)
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                try:
                    end.close()
                except OSError:
                    pass  # an order that the dead process did not read
