"""Open the live stage of a protocol, with a broker in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from groupmock import Broker

from ..names import run_name
from ..play import STREAMS, STREAMS_CLASSIC, Protocol, Sizes, Unsupported
from .connect import ConnectStage
from .protocol_members import LIBRARY
from .stage import LiveStage
from .streams import StreamsStage


@contextmanager
def open_stage(sizes: Sizes, protocol: Protocol, journal: Path | None = None) -> Iterator[LiveStage]:
    """Open a stage for one run, and end everything when the block ends. Raises Unsupported if the client library is not installed."""
    made = _stage_for(protocol)
    with tempfile.TemporaryDirectory(prefix="groupmock-scenario-") as folder:
        file = journal if journal is not None else Path(folder) / "journal.jsonl"
        settings = {
            "group.initial.rebalance.delay.ms": sizes.initial_delay_ms,
            "group.min.session.timeout.ms": min(sizes.session_ms, 6000),
            "group.consumer.session.timeout.ms": sizes.session_ms,
            "group.consumer.heartbeat.interval.ms": sizes.heartbeat_ms,
            "group.streams.session.timeout.ms": sizes.session_ms,
            "group.streams.heartbeat.interval.ms": sizes.heartbeat_ms,
            "group.streams.initial.rebalance.delay.ms": sizes.initial_delay_ms,
            "group.streams.num.standby.replicas": 1,
        }
        with Broker(seed=sizes.seed, run=run_name(sizes, journal), journal=str(file), settings=settings) as broker:
            stage = made(sizes, protocol, broker, file, Path(folder))
            try:
                yield stage
            finally:
                stage.close()


def _stage_for(protocol: Protocol) -> Callable[[Sizes, Protocol, Broker, Path, Path], LiveStage]:
    if protocol.name == "connect":
        return ConnectStage
    if protocol.name in (STREAMS, STREAMS_CLASSIC):
        return StreamsStage
    for client in (protocol.client, *dict(protocol.others).values()):
        module = LIBRARY[client].module
        if find_spec(module) is None:
            raise Unsupported(f"{protocol} needs the Python package {module}, which is not installed")
    return LiveStage
