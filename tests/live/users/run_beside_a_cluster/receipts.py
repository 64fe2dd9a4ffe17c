"""The parts that both services share: the format of an order, the file of receipts, and an oven that may be busy."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

NAME = sys.argv[1] if len(sys.argv) > 1 else "anna"
BOOTSTRAP = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "")
POLL_MS = int(os.environ.get("KITCHEN_POLL_MS", "30000"))
SESSION_MS = min(6000, POLL_MS)
stopping: list[int] = []


def stop_on_sigterm() -> None:
    """Make SIGTERM end the loop of the service, which then closes its consumer."""

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.append(number)

    signal.signal(signal.SIGTERM, stop)


def note(what: str, order: str) -> None:
    """Append a line with the instance, the event and the order to the file of receipts."""
    with open(os.environ["KITCHEN_RECEIPTS"], "a", encoding="utf-8") as file:
        file.write(f"{NAME} {what} {order}\n")


def order_of(value: bytes | None) -> str | None:
    """Return the id of an order, or None for an invalid record."""
    try:
        return str(json.loads(value or b"")["id"])
    except (ValueError, KeyError, TypeError):
        return None


def cook(order: str) -> None:
    """Wait until the oven is free, if the file of an oven exists."""
    note("cooks", order)
    oven = os.environ.get("KITCHEN_OVEN")
    while oven and not Path(oven).exists():
        time.sleep(0.02)
    note("served", order)
