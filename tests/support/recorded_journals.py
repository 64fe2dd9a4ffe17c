"""Journals of stock consumers that were recorded once into tests/data/journals. `python tests/support/recorded_journals.py` records them
anew.

Two runs of stock clients always differ; the pipeline's results for one journal must not. `make live` has fresh runs.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from stock_members import Member, spec
from waiting import until

from groupmock import Broker

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "journals"
STOCK_GROUP: Final = Path(__file__).with_name("stock_group.py")
RECORDED: Final = {
    path.name.removesuffix(".jsonl.gz"): path for folder in (FOLDER, FOLDER.parent / "record") for path in sorted(folder.glob("*.jsonl.gz"))
}
"""Recorded journals by name: runs of groupmock, and recordings of the proxy in front of another broker."""
LIBRARIES: Final = ("aiokafka", "kafka-python")


def recorded(name: str, folder: Path) -> Path:
    """Unpack the journal of that name into a folder of the test and return its path."""
    path = folder / f"{name}.jsonl"
    path.write_bytes(gzip.decompress(RECORDED[name].read_bytes()))
    return path


def two_members(library: str, path: Path) -> None:
    command = [sys.executable, "-W", "ignore", str(STOCK_GROUP), library]
    served = ["run", "--topic", "orders:6", "--log", "off", "--journal", str(path), "--", *command]
    subprocess.run([sys.executable, "-m", "groupmock", *served], check=True, timeout=60, stderr=subprocess.DEVNULL)


def struck(path: Path) -> None:
    """Record kafka-python in the group `struck`, which is expelled at its third heartbeat, and in the group `calm` of the same broker."""
    when = {"api": "Heartbeat", "group": "struck", "state": "Stable", "nth": 3}
    everything = {(("orders", number % 2), number // 2) for number in range(20)}
    with Broker(topics={"orders": 2}, seed=1, journal=str(path), group_initial_rebalance_delay_ms=20) as broker:

        def reader(name: str) -> Member:
            return Member(spec("kafka-python", f"reader-{name}", broker.bootstrap, name, ("orders",), heartbeat_ms=30, poll_ms=1000))

        for number in range(20):
            broker.produce("orders", b"one coffee", partition=number % 2)
        with warnings.catch_warnings():
            # kafka-python reads its schemas with importlib.resources.read_text, which is deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            one, calm = reader("struck"), reader("calm")
            for each in (one, calm):
                until("all records", lambda each=each: everything <= set(each.delivered), lambda: (one.delivered, calm.delivered))
            before = len(one.delivered)
            with broker.fault(when=when, do={"kind": "expire_member"}, times=1):
                broker.wait_for("struck", state="Stable", generation=3, timeout=40)
            until("all again", lambda: everything <= set(one.delivered[before:]), lambda: broker.story("struck"))
            broker.produce("orders", b"the last one", partition=0)
            until("the last one", lambda: (("orders", 0), 10) in one.delivered, lambda: broker.story("struck"))
            one.stop()
            calm.stop()


RECORDS: Final[dict[str, Callable[[Path], None]]] = {name: partial(two_members, name) for name in LIBRARIES} | {"struck": struck}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, record in RECORDS.items():
            path = Path(scratch, f"{name}.jsonl")
            record(path)
            (FOLDER / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            print(f"{name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
