"""Check the histories of offsets and records, as Elle does for databases: acknowledged writes must be read, and in their order.

Committed offsets are registers, one for a group and a partition: a read gives what was written last (or a write that is under way), and
nobody who began after a write was acknowledged brings it back to less. Records are lists: what is acknowledged at an offset is there,
is delivered there, to a member that was told that it owns the partition in its generation, and nothing is left out.
Kyle Kingsbury, Peter Alvaro: Elle: Inferring Isolation Anomalies from Experimental Observations, arXiv 2003.10554.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from groupmock.core.effects import Moved, Note
from groupmock_codec import error_codes
from groupmock_codec.api_keys import OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT
from groupmock_codec.group_states import DEAD
from groupmock_codec.records import decode_records

if TYPE_CHECKING:
    from groupmock.core.cluster import Cluster
    from groupmock.core.events import Request

    from .findings import Findings
    from .groups import GroupJudge

JUDGE: Final = "history"
TOPIC_CHANGES: Final = frozenset((19, 20, 21, 33, 37, 44))
"""The APIs by which a hostile peer may change all topics."""

Register = tuple[str, str, int]
Place = tuple[str, int]


class HistoryJudge:
    """Compares acknowledged commits and records with what was read and delivered."""

    cluster: Cluster

    def __init__(self, bench: Findings, groups: GroupJudge) -> None:
        self.bench = bench
        self.groups = groups
        self.committed: dict[Register, int] = {}
        self.under_way: dict[int, dict[Register, int]] = {}  # Maps a ticket to the offsets that the request commits.
        self.uncertain: set[Register] = set()  # The (group, topic, partition) triples whose last commit ended without a clear answer.
        self.acked: dict[Place, dict[int, bytes]] = {}
        self.delivered: dict[tuple[str, str, int], dict[int, bytes]] = {}
        self.deleted: set[str] = set()
        self.topics_spoilt = False

    # -- offsets, as the core hears of them

    def asks(self, event: Request) -> None:
        """Note the offsets of a commit that is in progress."""
        if event.key in TOPIC_CHANGES and event.connection in self.bench.strange:
            self.topics_spoilt = True
        message: Any = event.message
        # Offsets of transactional commits count as uncertain here, because another judge (`transactions`) checks their outcome.
        if event.key == TXN_OFFSET_COMMIT:
            places = ((topic.name, each.partition_index) for topic in message.topics for each in topic.partitions)
            self.uncertain |= {(message.group_id, *place) for place in places}
        if event.key != OFFSET_COMMIT:
            return
        self.under_way[event.ticket] = {
            (message.group_id, topic.name, each.partition_index): each.committed_offset
            for topic in message.topics
            for each in topic.partitions
        }

    def answered(self, asked: Request, answer: Any) -> None:
        """Record which commits succeeded, and check the offsets that were fetched."""
        if asked.key == OFFSET_COMMIT:
            written = self.under_way.pop(asked.ticket, {})
            message: Any = asked.message
            for topic in answer.topics:
                for each in topic.partitions:
                    at = (message.group_id, topic.name, each.partition_index)
                    if each.error_code == 0 and at in written:
                        self.committed[at] = written[at]
                    elif each.error_code in (
                        error_codes.COORDINATOR_LOAD_IN_PROGRESS,
                        error_codes.COORDINATOR_NOT_AVAILABLE,
                        error_codes.NOT_COORDINATOR,
                    ):
                        self.uncertain.add(at)  # The commit may be in the log although the coordinator moved away.
        elif asked.key == OFFSET_FETCH:
            for group, topic, partition, offset in _fetched(asked.message, answer):
                self._read((group, topic, partition), offset)

    def _read(self, at: Register, offset: int) -> None:
        if at[0] in self.groups.spoilt or at in self.uncertain:
            return
        possible = {self.committed.get(at, -1)} | {written[at] for written in self.under_way.values() if at in written}
        if offset not in possible:
            group, topic, partition = at
            text = f"group {group!r} committed {self.committed.get(at)} for {topic}-{partition} and reads {offset}"
            self.bench.found(JUDGE, text)

    def happened(self, effect: Any) -> None:
        """Forget offsets that were removed with their group or topic, or have expired."""
        if isinstance(effect, Moved) and effect.after == DEAD and effect.cause != "coordinator_left":
            self._forget(lambda at: at[0] == effect.group)
        elif isinstance(effect, Note) and effect.what in ("offset_expired", "offset_removed"):
            fields = effect.fields
            self._forget(lambda at: at == (fields["group"], fields["topic"], fields["partition"]))
        elif isinstance(effect, Note) and effect.what == "topic_deleted":
            topic = effect.fields["topic"]
            self._forget(lambda at: at[1] == topic)
            self.deleted.add(str(topic))

    def _forget(self, gone: Any) -> None:
        for at in [at for at in self.committed if gone(at)]:
            del self.committed[at]

    # -- offsets, as members know them

    def floor(self, group: str, offsets: dict[Place, int]) -> dict[Place, int]:
        """Return the offsets that are already committed for these partitions when a member begins to commit."""
        return {place: self.committed.get((group, *place), -1) for place in offsets}

    def went_back(self, group: str, offsets: dict[Place, int], floor: dict[Place, int]) -> None:
        """Check that an acknowledged commit has not moved offsets back below `floor`, the offsets committed before it began."""
        if group in self.groups.spoilt:
            return
        for place, offset in offsets.items():
            if offset < floor[place] and (group, *place) not in self.uncertain:
                text = f"group {group!r} had committed {floor[place]} of {place[0]}-{place[1]}, and a later commit took it back to {offset}"
                self.bench.found(JUDGE, text)

    # -- records

    def produced(self, topic: str, partition: int, base: int, values: list[bytes]) -> None:
        """Record that a producer's records were acknowledged, the first at this offset."""
        log = self.acked.setdefault((topic, partition), {})
        for offset, value in enumerate(values, base):
            if log.setdefault(offset, value) != value:
                self.bench.found(JUDGE, f"offset {offset} of {topic}-{partition} was promised to two records")

    def delivers(self, group: str, member: str, owners: set[str], place: Place, offset: int, value: bytes) -> None:
        """Check a record that an application gets from a partition, whose owner must be one of `owners`."""
        topic, partition = place
        promised = self.acked.get(place, {}).get(offset)
        if promised is not None and promised != value:
            self.bench.found(JUDGE, f"offset {offset} of {topic}-{partition} is delivered as {value!r}, acknowledged as {promised!r}")
        if member not in owners and group not in self.groups.spoilt:
            self.bench.found(JUDGE, f"{topic}-{partition} is delivered to {member!r}, it belongs to {owners}")
        self.delivered.setdefault((group, topic, partition), {})[offset] = value

    # -- in the end

    def nothing_lost(self, groups: dict[str, list[str]]) -> None:
        """Check that every acknowledged record is in its log and was delivered to each of these groups (group -> topics)."""
        if self.topics_spoilt:
            return
        for place in [place for place in self.acked if place[0] in self.deleted]:
            del self.acked[place]
        for place, log in self.acked.items():
            stored = dict(self._log(*place))
            gone = [offset for offset, value in log.items() if stored.get(offset) != value]
            if gone:
                self.bench.found(JUDGE, f"{place[0]}-{place[1]} lost acknowledged offsets {gone[:5]}")
        for group, topics in groups.items():
            if group not in self.groups.spoilt:
                self._all_delivered(group, topics)

    def _all_delivered(self, group: str, topics: list[str]) -> None:
        for place, log in self.acked.items():
            if place[0] not in topics:
                continue
            seen = self.delivered.get((group, *place), {})
            missing = sorted(offset for offset in log if offset not in seen)
            if missing:
                self.bench.found(JUDGE, f"offsets {missing[:5]} of {place[0]}-{place[1]} were never delivered to group {group!r}")

    def _log(self, topic: str, partition: int) -> Iterator[tuple[int, bytes]]:
        found = self.cluster.topics.find(topic, partition)
        for batch in found.batches() if found is not None else ():
            yield from ((record.offset, record.value or b"") for record in decode_records(batch))


def _fetched(message: Any, answer: Any) -> Iterator[tuple[str, str, int, int]]:
    """Yield group, topic, partition and offset of each offset that was read without an error."""
    groups = [(each.group_id, each) for each in answer.groups] or [(message.group_id, answer)]
    for group, told in groups:
        if told.error_code == 0:
            for topic in told.topics:
                for each in topic.partitions:
                    if each.error_code == 0:
                        yield group, topic.name, each.partition_index, each.committed_offset
