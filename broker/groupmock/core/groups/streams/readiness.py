"""Checks the topology of a streams group against the topics of the cluster, and creates its internal topics (ST-60 to ST-75, ST-304).

A heartbeat that finds internal topics missing is answered with a status. A timer that is due at once stands for the broker's request to the
controller. When the topics are there, the next heartbeat raises the group epoch and computes a target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.units import NS_PER_MS

from ...log import configs
from ...log.config_keys import topic_keys
from ...log.refusal import TopicRefused
from ..refused import Refused
from .group import Group
from .topology import Configured, NewTopic, configure, required_topics

if TYPE_CHECKING:
    from groupmock_codec.messages.k88_streams_group_heartbeat import Topology

    from ...log.topics import Topics
    from ...turn import Turn

TIMER: Final = "internal_topics"
MISSING_SOURCES: Final = 1
MISSING_INTERNAL: Final = 3
MOST_NAMED: Final = 3
"""Kafka names at most this number of topics in the text of a status."""


class Prospect(NamedTuple):
    """The topology of a group with the topics as they are now, or as they were if the group has no reason to look. `is_new` is true unless
    the group has all of this already."""

    topology: Topology
    required: frozenset[str]
    topics: dict[str, tuple[bytes, int]]
    configured: Configured
    is_new: bool


def examine(group: Group | None, topics: Topics, sent: Topology | None) -> Prospect:
    """Return what the group's topology, or else the one that was sent, makes of the present topics, without changing the group. Raises
    Refused, also if another topology was sent than the group has (ST-71, ST-72)."""
    if sent is not None and sent.epoch < 0:
        raise Refused(error_codes.UNKNOWN_SERVER_ERROR, "")
    own = None if group is None else group.topology
    if own is not None and sent is not None and sent.epoch >= own.epoch and sent != own:
        raise Refused(error_codes.INVALID_REQUEST, "Topology updates are not supported yet.")
    topology = own if own is not None else sent
    assert topology is not None, "a member that joins sends a topology, and others are in groups that have one"
    configured = None if group is None else group.shown or group.configured
    if group is not None and configured is not None and not group.stale:
        return Prospect(topology, group.required, group.topics, configured, is_new=configured is not group.configured)
    required = required_topics(topology)
    found = {name: (topic.topic_id, len(topic.partitions)) for name in required if (topic := topics.get(name)) is not None}
    if group is not None and configured is not None and found == group.topics:
        return Prospect(topology, required, found, configured, is_new=True)
    return Prospect(topology, required, found, configure(topology, found), is_new=True)


def status_of(turn: Turn, group: Group, uncreatable: Sequence[str]) -> tuple[int, str] | None:
    """Return the status of the group's topics, or None if the topology is ready. `uncreatable` are the missing internal topics that the
    member may not create."""
    assert group.configured is not None
    status = group.configured.status
    if status is None or status[0] != MISSING_INTERNAL:
        return status
    code, text = status
    if uncreatable:
        text += f"; Unauthorized to CREATE on topics {', '.join(uncreatable)}."
    elif failed := [f"{name} ({why})" for name in group.configured.missing if (why := _why_not(turn, group, name)) is not None]:
        more = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
        text += f"; Creation failed: {', '.join(failed[:MOST_NAMED])}{more}."
    return code, text


def ask(turn: Turn, group: Group, uncreatable: Iterable[str], remembered_ms: int) -> None:
    """Let the missing internal topics be created in the background, unless the member may not create them, or they have just failed."""
    assert group.configured is not None
    wanted = [name for name in group.configured.missing if _why_not(turn, group, name) is None]
    if wanted and not [*uncreatable]:
        turn.timers.set((TIMER, group.group_id), turn.now)
        group.remembered_ms = remembered_ms


def create(turn: Turn, group: Group) -> None:
    """Create the internal topics that a heartbeat has asked for. What fails is in the status of later heartbeats (ST-70)."""
    topics = group.home.topics
    missing = {} if group.configured is None else group.configured.missing
    for name, wanted in missing.items():
        if name in topics or _why_not(turn, group, name) is not None:
            continue
        try:
            _create(turn, topics, name, wanted)
        except TopicRefused as refused:
            topics.failed_creations.note(name, refused.message, turn.now + group.remembered_ms * NS_PER_MS)
            group.end_leases()
            turn.note("topic_not_created", topic=name, reason=refused.message)
        else:
            turn.note("internal_topic_created", group=group.group_id, topic=name, partitions=wanted.partitions)


def _why_not(turn: Turn, group: Group, name: str) -> str | None:
    """Return why an internal topic could not be created lately, or None."""
    return group.home.topics.failed_creations.get(name, turn.now)


def _create(turn: Turn, topics: Topics, name: str, wanted: NewTopic) -> None:
    topics.check_name(name)
    try:
        own = configs.check_all(wanted.configs, topic_keys(turn.quirks))
    except configs.BadConfig as bad:
        raise TopicRefused(error_codes.INVALID_CONFIG, str(bad)) from None
    factor = None if wanted.replication_factor in (0, -1) else wanted.replication_factor  # Kafka Streams sends -1 unless it is configured.
    topics.create(turn, name, wanted.partitions, factor, own)
