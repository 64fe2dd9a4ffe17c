"""Watch five stock consumers of a mock cluster come, crash and leave, with a commentary on their rebalances.

The scenario `tour`, played live: three aiokafka and two kafka-python members share a topic of 12 partitions. They arrive, one is killed,
one leaves. The commentary is made from the cluster's journal, which is open to any user. Exit codes: 0 the group settled each time and no
record was lost, 1 it did not (stderr says what was missing), 2 a consumer library is missing.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from groupmock.text.printable import lines, one_line
from groupmock_codec.extras import pip_install

if TYPE_CHECKING:
    from .live.stage import LiveStage
    from .play import Sizes
    from .tour_story import Tour

OK, FAILED, BAD_USE = 0, 1, 2
LIBRARIES: Final = {"aiokafka": "aiokafka", "kafka": "kafka-python"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no flags, because the demo always plays the same scenario."""


def run(arguments: argparse.Namespace) -> int:
    missing = [name for module, name in LIBRARIES.items() if find_spec(module) is None]
    if missing:
        install = pip_install("cooperative-aiokafka", "cooperative-kafka-python")
        sys.stderr.write(f"The demo needs {' and '.join(missing)}: {install}\n")
        return BAD_USE
    from .play import Missed

    began = time.monotonic()
    try:
        tour(sizes())
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
    sys.stdout.write(one_line(text) + "\n")
    sys.stdout.flush()


def tour(sizes: Sizes) -> None:
    """Play the scenario with its commentary. Raises Missed."""
    from groupmock.version import __version__

    from .catalogue import TOUR, TOUR_PROTOCOL
    from .live.stage import open_stage
    from .play import GROUP, RUNNER, TOPIC, play
    from .tour_story import DISMISS, Tour

    teller = Tour(GROUP, TOPIC, sizes)
    telling: threading.Thread | None = None
    try:
        with open_stage(sizes, TOUR_PROTOCOL) as stage:
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
