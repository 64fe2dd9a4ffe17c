"""Copies of the judged program are processes, each with an environment, a file for its output, and signals to stop it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ...text.printable import one_line

BOOTSTRAP: Final = ("GROUPMOCK_BOOTSTRAP", "KAFKA_BOOTSTRAP", "KAFKA_BOOTSTRAP_SERVERS")
"""Environment variables with the bootstrap address, which `groupmock run` sets, too."""
LAST_BYTES: Final = 4096


class CannotRun(Exception):
    """Raised if the program cannot be started. The text gives the reason, and the exit code is 3."""


class Copy:
    """Runs one process of the judged program. `client_id` and `instance_id` are those in its environment. `asked` is true once it was sent
    a signal that ends it. `status` is its exit status, or None while it runs.

    The process leads a process group of its own, and signals go to the whole group, because a program is often a shell or a launcher around
    the client.
    """

    def __init__(self, number: int, process: asyncio.subprocess.Process, client_id: str, instance_id: str | None, said: Path) -> None:
        self.number, self.client_id, self.instance_id = number, client_id, instance_id
        self.asked = False
        self.frozen = False
        self.said = said
        self._process = process

    @classmethod
    async def start(
        cls, command: Sequence[str], number: int, environment: Mapping[str, str], said: Path, ended: Callable[[Copy], None]
    ) -> Copy:
        """Start one copy of the program as a process. Its stdout and stderr go to `said`, and `ended` is called when it has ended.
        Raises CannotRun."""
        with said.open("ab") as out:
            starting = asyncio.ensure_future(
                asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
                )
            )
            try:
                process = await asyncio.shield(starting)
            except asyncio.CancelledError:
                # The process may exist already, and the loop would leave it running if its start was cancelled.
                process = await starting
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
                raise
            except OSError as trouble:
                raise CannotRun(f"cannot run {command[0]}: {trouble.strerror}") from None
        copy = cls(number, process, environment["GROUPMOCK_CLIENT_ID"], environment.get("GROUPMOCK_INSTANCE_ID"), said)
        copy.over = asyncio.ensure_future(process.wait())
        copy.over.add_done_callback(lambda _: ended(copy))
        return copy

    over: asyncio.Future[int]
    """A future that is done when the process of the copy has ended."""

    @property
    def status(self) -> int | None:
        """Return the exit status of the copy, negative for a signal, or None while it runs."""
        return self._process.returncode

    @property
    def alive(self) -> bool:
        """Return whether the copy runs and was not asked to end."""
        return self._process.returncode is None and not self.asked

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all processes that it started. Nothing happens if they have ended."""
        self.asked = self.asked or number in (signal.SIGTERM, signal.SIGKILL)
        self.frozen = number == signal.SIGSTOP or (self.frozen and number != signal.SIGCONT)
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass

    async def end(self, seconds: float) -> bool:
        """Send SIGTERM and wait for the end for some seconds, then send SIGKILL. Return whether the copy ended after SIGTERM."""
        in_time = bool((await asyncio.wait([self.over], timeout=seconds))[0])
        self.signal(signal.SIGKILL)  # The whole process group is killed, because processes that the program started may have outlived it.
        await self.over
        return in_time

    @property
    def how_it_ended(self) -> str:
        """Return a sentence like `copy 2 ended with status 1; the last that it said: ...`."""
        status = self.status or 0
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        last = self.last_words()
        return f"copy {self.number} {how}; the last that it said: {last}" if last else f"copy {self.number} {how} and said nothing"

    def last_words(self) -> str:
        """Return the last line of the copy's output that is not blank, made printable."""
        with self.said.open("rb") as file:
            file.seek(max(0, self.said.stat().st_size - LAST_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
        return next((one_line(line.strip())[:300] for line in reversed(lines) if line.strip()), "")


def environment_of(number: int, bootstrap: str, topic: str, group: str, instance: str | None) -> dict[str, str]:
    """Return the environment of a copy: groupmock's own variables on top of the inherited ones."""
    own = {
        **dict.fromkeys(BOOTSTRAP, bootstrap),
        "GROUPMOCK_COPY": str(number),
        "GROUPMOCK_TOPIC": topic,
        "GROUPMOCK_GROUP": group,
        "GROUPMOCK_CLIENT_ID": f"copy-{number}",
    }
    # An inherited instance id would make every copy the same static member.
    inherited = {name: value for name, value in os.environ.items() if name != "GROUPMOCK_INSTANCE_ID"}
    return inherited | own | ({} if instance is None else {"GROUPMOCK_INSTANCE_ID": instance})
