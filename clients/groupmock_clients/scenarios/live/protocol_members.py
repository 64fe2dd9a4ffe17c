"""Choose the member process of a protocol: library, assignors, and whether it is a CooperativeConsumer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..play import BY_BROKER, GROUP, Protocol, Sizes, Speaks, Unsupported
from .member_spec import CLASSIC, CONSUMER, COOPERATIVE, DUAL, RANGE, ROUND_ROBIN, STICKY, MemberSpec


@dataclass(frozen=True, slots=True)
class Library:
    """A client library: its name in member specs, and the module that has to be installed."""

    name: str
    module: str


LIBRARY: Final = {
    "aiokafka": Library("aiokafka", "aiokafka"),
    "aiokafka-twin": Library("aiokafka", "aiokafka"),
    "kafka-python": Library("kafka-python", "kafka"),
    "kafka-python-twin": Library("kafka-python", "kafka"),
    "confluent-kafka": Library("confluent-kafka", "confluent_kafka"),
}
DEFAULTS: Final = {
    "aiokafka": (ROUND_ROBIN,),
    "kafka-python": (RANGE, ROUND_ROBIN),
    "confluent-kafka": (RANGE, ROUND_ROBIN),
}
"""The default assignors of the libraries."""


def client_of(protocol: Protocol, member: str) -> str:
    """Return the name of the client library of that member."""
    return dict(protocol.others).get(member, protocol.client)


def spec_for(member: str, bootstrap: str, sizes: Sizes, protocol: Protocol, speaks: Speaks, topics: Sequence[str]) -> MemberSpec:
    """Make the spec of a member. Raises Unsupported if the library cannot do this."""
    library = LIBRARY[client_of(protocol, member)].name
    assignors = _assignors(protocol, library, speaks)
    return MemberSpec(
        library=library, name=member, bootstrap=bootstrap, group=GROUP, topics=tuple(topics), assignors=assignors,
        # A CooperativeConsumer has one assignor, so a kafka-python member that still lists range is a plain consumer.
        twin=protocol.twin and RANGE not in assignors, protocol=CONSUMER if protocol.name == BY_BROKER else CLASSIC,
        settings={
            "design": protocol.design, "delay_ms": sizes.delay_ms, "max_moves": sizes.max_moves, "move_interval_ms": sizes.move_interval_ms
        } if protocol.design else {},
        session_ms=sizes.session_ms, heartbeat_ms=sizes.heartbeat_ms, commit_ms=sizes.commit_ms, metadata_ms=sizes.metadata_ms,
    )  # fmt: skip


def _assignors(protocol: Protocol, library: str, speaks: Speaks) -> tuple[str, ...]:
    if protocol.name == "default":
        return DEFAULTS[library]
    if protocol.name in ("range", BY_BROKER) or speaks is Speaks.PLAIN:
        return (RANGE,)
    if protocol.name == "cooperative-sticky":
        if library == "aiokafka" or speaks is Speaks.BOTH:
            raise Unsupported(f"{library} cannot list cooperative-sticky{' beside range' if speaks is Speaks.BOTH else ''}")
        return (STICKY,)
    if not protocol.design or library == "confluent-kafka":
        raise Unsupported(f"{library} has no assignor for {protocol.name}")
    if speaks is Speaks.TARGET:
        return (COOPERATIVE,)
    return (DUAL,) if library == "aiokafka" else (COOPERATIVE, RANGE)
