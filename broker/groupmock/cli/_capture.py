"""`groupmock record --pcap FILE`: a packet capture to a journal. No verb of its own."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final

from groupmock_codec.extras import pip_install

from ..config import ConfigError
from . import BAD_USE, CANNOT_START, OK, UNKNOWN
from ._options import complain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..record.capture import Report

STANDARD: Final = "-"
STDOUT: Final = "/dev/stdout"
OF_THE_PROXY: Final = ("upstream", "plan", "seed", "advertise", "tls", "tls_ca", "tls_cert", "tls_key")
"""Flags that mean something only where connections are made."""


class NoJournal(Exception):
    """It could not be written; the text says why."""


def run_capture(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code: 4 where the capture has not all that the journal should have."""
    try:
        from ..record.packets import NotACapture
    except ModuleNotFoundError as lacking:
        complain("record", RuntimeError(f"--pcap needs {lacking.name}: {pip_install('capture')}"))
        return CANNOT_START
    try:
        ports = _ports(arguments)
        with _opened(arguments.pcap) as source:
            report = _record(arguments, source, ports)
    except (ConfigError, NotACapture) as bad:
        complain("record", bad if isinstance(bad, ConfigError) else ValueError(f"{arguments.pcap} is no packet capture: {bad}"))
        return BAD_USE
    except NoJournal as failure:
        complain("record", RuntimeError(f"the journal could not be written: {failure}: it is incomplete, so the recording ends here"))
        return CANNOT_START
    for sentence in report.sentences:
        complain("record", ValueError(sentence))
    return UNKNOWN if report.incomplete else OK


def _ports(arguments: argparse.Namespace) -> frozenset[int]:
    """Of --port; none: they are guessed. Raises ConfigError, for flags too that have no place here."""
    given = [f"--{name.replace('_', '-')}" for name in OF_THE_PROXY if getattr(arguments, name)] + ["-- COMMAND"] * bool(arguments.command)
    if given:
        raise ConfigError(f"--pcap reads a file and connects to nobody, so leave out {' and '.join(given)}")
    both = [path for path in (arguments.pcap, arguments.journal) if path and os.path.exists(path)]
    if len(both) == 2 and os.path.samefile(*both):
        raise ConfigError(f"--journal: {arguments.journal} is the capture itself")
    ports = [text.strip() for text in arguments.port.split(",")]
    if not all(text.isdecimal() and int(text) < 65536 for text in ports):
        raise ConfigError(f"--port: {arguments.port!r}: with --pcap the ports of brokers are wanted, as 9092 or 9092,9093")
    return frozenset(map(int, ports)) - {0}


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if path == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        source = open(path, "rb")  # noqa: SIM115  # closed below; what fails later is not about opening
    except OSError as failure:
        raise ConfigError(f"--pcap: {path}: {failure.strerror}") from None
    with source:
        try:
            yield source
        except OSError as failure:
            raise ConfigError(f"--pcap: {path}: {failure.strerror}") from None


def _record(arguments: argparse.Namespace, source: IO[bytes], ports: frozenset[int]) -> Report:
    from ..journal.file import FileSink
    from ..journal.journal import Journal
    from ..journal.place import placed
    from ..record.capture import record_capture
    from ..record.dialogue import Dialogue, header

    journals: list[Journal] = []
    limit = arguments.journal_max_bytes
    if limit is not None and not limit.isdecimal():
        raise ConfigError(f"--journal-max-bytes: {limit!r} is no number")

    def failed(why: str) -> None:
        raise NoJournal(why)

    def begin(epoch: int) -> Dialogue:
        """The file is made when the capture is known to be one."""
        path = arguments.journal or STDOUT
        try:
            path = placed(path, arguments.run)
            sink = FileSink(path, failed, None if limit is None else int(limit))
            journal = Journal(header(arguments.run, epoch, {"pcap": arguments.pcap, "port": arguments.port}), [sink])
            journal.begin()
        except OSError as failure:
            raise NoJournal(f"{path}: {failure.strerror}") from None
        journals.append(journal)
        return Dialogue(journal)

    report = record_capture(source, begin, ports)
    journals[0].close()
    return report
