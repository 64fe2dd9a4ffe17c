"""Members of the live stage that are Java programs: their processes, and a stage that plays one run at a time."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from groupmock import Broker

from ..play import Missed, Protocol, Sizes
from .stage import LiveStage

STARTING_S: Final = 120.0
TAIL: Final = 1500
FLAGS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


def written(file: Path, settings: dict[str, str]) -> Path:
    """Write a file of Java properties and return its path."""
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return file


class JavaProcess:
    """A Java virtual machine of a member, with the part of the stage's interface `Process` that all have. `out` is for its stdout, None for
    its log."""

    def __init__(self, member: str, log: Path, classpath: str, words: Sequence[str], out: int | None = None) -> None:
        self.member, self._log = member, log
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                ["java", *FLAGS, "-cp", classpath, *words], stdin=subprocess.PIPE, stdout=out or sink, stderr=sink, text=True
            )

    def check(self) -> None:
        """Raise Missed if the process has ended by itself."""
        if self._process.poll() is not None:
            raise Missed(f"{self.member} ended by itself with status {self._process.returncode}:\n{self.tail()}")

    def tail(self) -> str:
        return self._log.read_text(errors="replace")[-TAIL:]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        """Close the streams of a process that has ended."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _over(self, patience_s: float) -> None:
        """Wait for the end that the process was asked for. Raises Missed if it does not end."""
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Missed(f"{self.member} did not stop within {patience_s:g} s:\n{self.tail()}") from None
        self._let_go()


class JavaStage(LiveStage):
    """A live stage of Java programs with these libraries."""

    def __init__(self, sizes: Sizes, protocol: Protocol, broker: Broker, journal: Path, folder: Path, libraries: Path) -> None:
        self._libraries = libraries
        self._turn = libraries.parent.joinpath("scenario-java.turn").open("w")
        # Only one run plays at a time, because each needs several Java virtual machines, which are enough for a machine.
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        super().__init__(sizes, protocol, broker, journal, folder)
        self._patience += STARTING_S

    def close(self) -> None:
        super().close()
        self._turn.close()
