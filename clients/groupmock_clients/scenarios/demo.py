"""Watch five stock consumers of a mock cluster come, crash and leave, with a commentary on their rebalances.

The scenario `tour`, played live: three aiokafka and two kafka-python members share a topic of 12 partitions. They arrive, one is killed,
one leaves. The commentary is made from the cluster's journal, which is open to any user. At the end the timeline of the run is written as
a page, demo.html. Exit codes: 0 the group settled each time and no record was lost, 1 it did not (stderr says what was missing), 2 a
consumer library is missing.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupmock.text.colour import BOLD, DIM, GREEN, RED, YELLOW, painted, wants_colour
from groupmock.text.printable import lines, one_line
from groupmock_codec.extras import pip_install

if TYPE_CHECKING:
    from .live.stage import LiveStage
    from .play import Sizes
    from .tour_story import Tour

OK, FAILED, BAD_USE = 0, 1, 2
LIBRARIES: Final = {"aiokafka": "aiokafka", "kafka": "kafka-python"}
COLOURS: Final = (
    (re.compile(r"--- .* ---"), BOLD),
    (re.compile(r".*(kill -9|its session expired|it has not left)"), RED),
    (re.compile(r".*-> rebalance$"), YELLOW),
    (re.compile(r" *[\d.]+ +generation \d+ "), GREEN),
    (re.compile(r".*(\bcommits? |commits until|finds? committed|begins? to read|asks? where)"), DIM),
)
"""Patterns of lines with their colours; the first pattern that matches the beginning of a line counts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", default="demo.html", help="where the timeline goes (default %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    missing = [name for module, name in LIBRARIES.items() if find_spec(module) is None]
    if missing:
        install = pip_install("cooperative-aiokafka", "cooperative-kafka-python")
        sys.stderr.write(f"The demo needs {' and '.join(missing)}: {install}\n")
        return BAD_USE
    from .play import Missed

    began = time.monotonic()
    try:
        tour(sizes(), arguments.output)
    except Missed as why:
        sys.stderr.write(f"\nThe demo failed: {lines(why)}\n")
        return FAILED
    say(f"The demo took {time.monotonic() - began:.0f} s.")
    return OK


def sizes() -> Sizes:
    """Return sizes with short times, so that nothing takes long."""
    from .play import Sizes

    return Sizes(members=3, change=2, session_ms=3000, heartbeat_ms=300, commit_ms=1000, initial_delay_ms=500, delay_ms=1000, rate=3)


def say(text: str) -> None:
    """Print one line of the demo's commentary and flush stdout. It is escaped, because anybody may connect to the demo's port and send
    texts."""
    line = one_line(text)
    if wants_colour(sys.stdout):
        line = next((painted(line, colour) for pattern, colour in COLOURS if pattern.match(line)), line)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def tour(sizes: Sizes, picture: str) -> None:
    """Play the scenario with its commentary, and write its timeline to the file `picture`. Raises Missed."""
    with tempfile.TemporaryDirectory(prefix="groupmock-demo-") as folder:
        journal = Path(folder) / "demo.jsonl"
        _play(sizes, journal)
        _draw(journal, picture)


def _draw(journal: Path, picture: str) -> None:
    from groupmock.timeline.drawing import of_journal, save

    try:
        save(of_journal(str(journal)), picture, "html")
    except OSError as failure:
        sys.stderr.write(f"The timeline could not be written to {one_line(picture)}: {failure.strerror} (--output names another file)\n")
    else:
        say(f"The timeline of it all, to open in a browser: {Path(picture).resolve()}")


def _play(sizes: Sizes, journal: Path) -> None:
    from groupmock.version import __version__

    from .catalogue import TOUR, TOUR_PROTOCOL
    from .live.opening import open_stage
    from .play import GROUP, RUNNER, TOPIC, play
    from .tour_story import DISMISS, Tour

    teller = Tour(GROUP, TOPIC, sizes)
    telling: threading.Thread | None = None
    try:
        with open_stage(sizes, TOUR_PROTOCOL, journal) as stage:
            say(f"groupmock {__version__} answers as a Kafka broker on {stage.broker.bootstrap}.")
            for line in teller.introduction():
                say(line)
            telling = threading.Thread(target=_tell, args=(stage, teller), name="story")
            telling.start()
            play(TOUR, sizes, TOUR_PROTOCOL, stage)
            stage.tell(RUNNER, "step", {"step": DISMISS, "member": ""})
            stage.dismiss()
    finally:
        if telling is not None:
            telling.join()
    for line in teller.reckoning():
        say(line)


def _tell(stage: LiveStage, teller: Tour) -> None:
    """Print the commentary on every row as soon as it is in the journal."""
    for row in stage.journal_rows():
        for line in teller.tell(row):
            say(line)
    for line in teller.end():
        say(line)
