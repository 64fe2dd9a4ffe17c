"""Parses the moment of a run that --since takes: seconds of the run, seconds before its end, or a clock time."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime, time, timedelta
from typing import Final, NamedTuple

from groupmock_codec.units import NS_PER_S

SECONDS: Final = re.compile(r"(-?)([0-9]{1,12}(?:\.[0-9]{1,12})?)(ms|s|m|h)?")
UNITS: Final = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
HALF_A_DAY: Final = timedelta(hours=12)
FORMS: Final = "12.5 or 2m (from the start), -30 (before the end), 18:30:05 or 2026-11-23T18:30:05Z (clock)"


class Since(NamedTuple):
    """A moment in one of three forms: seconds from the start, seconds before the end, or a clock time with or without its day."""

    seconds: float = 0.0
    before_end: bool = False
    clock: datetime | time | None = None

    def at(self, epoch_ns: int, end_ns: int = 0) -> int:
        """Return the moment in ns of a run that began at `epoch_ns` and has its last row at `end_ns`. The result is at least 0."""
        if self.clock is not None:
            begun = datetime.fromtimestamp(epoch_ns / NS_PER_S, UTC)
            return max(0, round((_moment(self.clock, begun) - begun).total_seconds() * NS_PER_S))
        seconds = round(self.seconds * NS_PER_S)
        return max(0, end_ns - seconds) if self.before_end else seconds


def since(text: str) -> Since:
    """Parse the text of a moment of a run. Raises ValueError, which lists the forms."""
    if match := SECONDS.fullmatch(text):
        return Since(float(match[2]) * UNITS[match[3]], bool(match[1]))
    for read in (time.fromisoformat, datetime.fromisoformat):
        try:
            return Since(clock=read(text))
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no time: {FORMS}")


def moment(text: str) -> Since:
    """Parse a moment of a run, for argparse."""
    try:
        return since(text)
    except ValueError as bad:
        raise argparse.ArgumentTypeError(str(bad)) from None


def _moment(clock: datetime | time, begun: datetime) -> datetime:
    """Return the clock time with a zone, by default this machine's. A time without a day is the one nearest to the start of the run."""
    if isinstance(clock, datetime):
        return clock.astimezone(UTC)
    there = begun.astimezone(clock.tzinfo)
    moment = datetime.combine(there.date(), clock.replace(tzinfo=None), there.tzinfo)
    if moment < there - HALF_A_DAY:
        return moment + timedelta(days=1)
    return moment - timedelta(days=1) if moment > there + HALF_A_DAY else moment
