"""The stage's side of a fork server (members/forkserver.py), which starts member processes of one library quickly."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec

from ..play import Missed
from .member_spec import MemberSpec

PROGRAM: Final = "groupmock_clients.scenarios.live.members"


@dataclass(frozen=True, slots=True)
class Child:
    """A member process, which is a child of the fork server: its pid and our ends of its pipes."""

    pid: int
    orders: TextIO
    events: TextIO


class ForkServer:
    """A fork server, shared by all stages of this process and usable from any thread. Raises Missed when it has ended."""

    def __init__(self, library: str) -> None:
        self.library = library
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, library, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # The fork server gets a session of its own, because Ctrl-C must reach only the stage, which ends its members.
                start_new_session=True,
            )
        self._socket = ours
        self._answers = ours.makefile("rb")
        self._lock = threading.Lock()

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def spawn(self, spec: MemberSpec, log: Path) -> Child:
        """Start a member that appends its stderr to `log`."""
        orders_out, orders_in = os.pipe()
        events_out, events_in = os.pipe()
        sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        theirs = [orders_out, events_in, sink]
        try:
            pid = self._ask({"spec": msgspec.to_builtins(spec)}, theirs)["pid"]
        except BaseException:
            os.close(orders_in)
            os.close(events_out)
            raise
        finally:
            for each in theirs:
                os.close(each)
        return Child(pid, os.fdopen(orders_in, "w"), os.fdopen(events_out))

    def signal(self, child: Child, number: int) -> None:
        """Send a signal to a member whose end `status` has not reported yet."""
        self._ask({"signal": number, "pid": child.pid})

    def status(self, child: Child) -> int | None:
        """Return the exit status once, or None while the member runs."""
        status: int | None = self._ask({"poll": child.pid})["status"]
        return status

    def close(self) -> None:
        """Stop the fork server, so that it starts no further member processes. The existing ones end when their pipes do."""
        self._answers.close()
        self._socket.close()
        self._process.wait()

    def _ask(self, order: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        with self._lock:
            try:
                socket.send_fds(self._socket, [json.dumps(order).encode() + b"\n"], descriptors or [])
                line = self._answers.readline()
            except OSError:
                line = b""
            # The connection is closed after an interruption, because the pending answer would be mistaken for the answer to the next order.
            except BaseException:
                self._socket.shutdown(socket.SHUT_RDWR)
                raise
        if not line:
            raise Missed(f"the process that starts members of {self.library} ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


_servers: dict[str, ForkServer] = {}
_making: Final = threading.Lock()
atexit.register(lambda: close_all())


def forkserver_of(library: str) -> ForkServer:
    """Return the fork server for a library, of which this process has only one. It ends with the process, or by `close_all`."""
    with _making:
        found = _servers.get(library)
        if found is None or not found.lives:
            found = _servers[library] = ForkServer(library)
        return found


def close_all() -> None:
    """End all fork servers of this process. The next member starts a new one."""
    with _making:
        for each in _servers.values():
            each.close()
        _servers.clear()
