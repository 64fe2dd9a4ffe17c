"""A simulated member of a share group (KIP-932), which fetches records in share sessions and acknowledges them with every type, late, or
never.

As a stock client it has one share session on each node that leads partitions of its assignment, and one request under way in it. When a
session is lost it opens a new one, and still sends the acknowledgements that it owes: the broker may refuse them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, groupby
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import error_codes
from groupmock_codec.acknowledge_types import ACCEPT, RENEW
from groupmock_codec.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH, SHARE_GROUP_HEARTBEAT
from groupmock_codec.messages import k78_share_fetch as k78
from groupmock_codec.messages import k79_share_acknowledge as k79
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.records import decode_records, read_batches

from .client import Client
from .link import Answered
from .process import BACKOFF_MS, GIVEN_UP_MS, REQUEST_MS, ignored
from .reader import LOADING

if TYPE_CHECKING:
    from .plan import SimulatedClient
    from .world import World

LEAVING: Final = -1
FINAL: Final = -1
NEVER: Final = -1
"""Stands among the types of acknowledgements for a record that the worker never acknowledges."""
MODES_SINCE: Final = 2
"""The first version of ShareFetch and ShareAcknowledge with acquire modes and renewed locks."""
MAX_WAIT_MS: Final = 400
MAY_FAIL: Final = frozenset(
    (0, error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.UNKNOWN_TOPIC_ID)
)
"""The errors of single partitions in ShareFetch that a worker meets when a leader moves or a topic goes."""
Spot = tuple[bytes, int]
"""A partition as its topic id and its number."""
Batch = tuple[int, int, list[int]]
"""The first offset, the last offset and the types of an acknowledgement."""


class WorkerSession:
    """A share session on one node. `epoch` is that of the next request, `slots` are the partitions that the broker knows, and `owed` the
    acknowledgements to be sent."""

    def __init__(self, owed: dict[Spot, list[Batch]] | None = None) -> None:
        self.epoch = 0
        self.slots: frozenset[Spot] = frozenset()
        self.owed: dict[Spot, list[Batch]] = owed or {}
        self.busy = False


class ShareWorker(Client):
    """A simulated process that works for a share group. In the calm phase it accepts every record at once."""

    def __init__(self, world: World, about: SimulatedClient) -> None:
        super().__init__(world, about)
        self.group, self.topics = about.group, list(about.topics)
        self.calm = False
        self._types = cycle(about.acknowledges or [ACCEPT])
        self._born()

    def _born(self) -> None:
        self.member_id = f"{self.name}-{self._lives + 1}"
        self.epoch = 0
        self.assigned: frozenset[Spot] = frozenset()
        self.sessions: dict[int, WorkerSession] = {}
        self.stable = self._beating = False
        self._said: list[str] | None = None

    def leave(self) -> None:
        """Close the sessions with the acknowledgements that are owed, leave the group and end."""
        if self.alive:
            for node, session in self.sessions.items():
                if session.epoch and not session.busy and self.world.up(node):
                    message = self._acknowledgement(_taken(session), FINAL)
                    self._link(node).ask(SHARE_ACKNOWLEDGE, self._version(SHARE_ACKNOWLEDGE), message, ignored, REQUEST_MS)
            if self.stable and self.coordinator is not None and self.world.up(self.coordinator):
                self._ask(SHARE_GROUP_HEARTBEAT, self._heartbeat(LEAVING, None), ignored)
        self.kill(half_open=False)

    def subscribe(self, topics: list[str]) -> None:
        self.topics = list(topics)

    @property
    def settled(self) -> bool:
        return self.alive and self.stable and self._said == self.topics

    # -- heartbeats

    def _begin(self) -> None:
        self._said = None
        self._beat()

    def _unfound(self) -> None:
        super()._unfound()
        self._beating = False

    def _heartbeat(self, epoch: int, names: list[str] | None) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=epoch, subscribed_topic_names=names
        )

    def _beat(self) -> None:
        if self._beating:
            return
        self._beating = True
        names = list(self.topics) if not self.epoch or self._said != self.topics else None
        said = self._said if names is None else names

        def beaten(answer: Any) -> None:
            self._beating = False
            if answer is None:
                self._find()
            elif answer.error_code:
                self._refused(answer.error_code)
            else:
                self.stable, self.epoch, self._said = True, answer.member_epoch, said
                if answer.assignment is not None:
                    told = answer.assignment.topic_partitions
                    self.assigned = frozenset((each.topic_id, index) for each in told for index in each.partitions)

        self._ask(SHARE_GROUP_HEARTBEAT, self._heartbeat(self.epoch, names), self._here(beaten), self.about.session_ms)

    def _refused(self, code: int) -> None:
        if code in LOADING:
            self._lost_coordinator()
            return
        if code in (error_codes.UNKNOWN_MEMBER_ID, error_codes.FENCED_MEMBER_EPOCH, error_codes.GROUP_ID_NOT_FOUND):
            wait_ms = BACKOFF_MS
        elif code == error_codes.GROUP_MAX_SIZE_REACHED:
            wait_ms = GIVEN_UP_MS
        else:
            self._unexpected(SHARE_GROUP_HEARTBEAT, code)
            return
        self.epoch, self.assigned, self.stable = 0, frozenset(), False
        self._later(wait_ms, self._beat)

    # -- fetching

    def _poll(self) -> None:
        if self.coordinator is None:
            return
        self._beat()
        # The worker may have lost its coordinator during the heartbeat, because a request to a stopped node fails at once.
        if not self.stable:
            return
        topics = self.world.core.cluster.topics
        spots = {(topics.name_of(topic) or "", index): (topic, index) for topic, index in self.assigned}
        led = self.world.led(spots)
        for node in sorted({*led, *self.sessions}):
            if self.world.up(node):
                self._serve(node, frozenset(spots[place] for place in led.get(node, ())))

    def _serve(self, node: int, wanted: frozenset[Spot]) -> None:
        """Send the next request of the session on a node: acknowledgements, or a fetch."""
        session = self.sessions.setdefault(node, WorkerSession())
        if session.busy or not (session.epoch or wanted):
            return
        session.busy = True
        if session.owed and session.epoch and (_renews(session.owed) or not self.about.by_fetch):
            then = self._in_life(lambda answer: self._acknowledged(node, session, answer))
            message = self._acknowledgement(_taken(session), session.epoch)
            self._link(node).ask(SHARE_ACKNOWLEDGE, self._version(SHARE_ACKNOWLEDGE), message, then, REQUEST_MS)
            return
        fetch = self._fetch(session, wanted)
        session.slots = wanted
        then = self._in_life(lambda answer: self._fetched(node, session, answer))
        self._link(node).ask(SHARE_FETCH, self._version(SHARE_FETCH), fetch, then, REQUEST_MS)

    def _fetch(self, session: WorkerSession, wanted: frozenset[Spot]) -> k78.ShareFetchRequest:
        owed = _taken(session) if session.epoch else {}
        gone = session.slots - wanted if session.epoch else frozenset()
        named = sorted({*(wanted - session.slots if session.epoch else wanted), *owed})
        topics = [
            k78.FetchTopic(
                topic_id=topic,
                partitions=[
                    k78.FetchPartition(partition_index=spot[1], acknowledgement_batches=_batches(owed.get(spot, ()))) for spot in spots
                ],
            )
            for topic, spots in groupby(named, lambda spot: spot[0])
        ]
        return k78.ShareFetchRequest(
            group_id=self.group, member_id=self.member_id, share_session_epoch=session.epoch, max_wait_ms=MAX_WAIT_MS, min_bytes=1,
            max_bytes=1 << 20, max_records=self.about.max_records, batch_size=self.about.max_records,
            share_acquire_mode=int(self.about.by_record) if self._version(SHARE_FETCH) >= MODES_SINCE else 0, topics=topics,
            forgotten_topics_data=[k78.ForgottenTopic(topic_id=topic, partitions=[index]) for topic, index in sorted(gone)],
        )  # fmt: skip

    def _fetched(self, node: int, session: WorkerSession, answer: Any) -> None:
        if not self._goes_on(node, session, answer, SHARE_FETCH):
            return
        for topic in answer.responses:
            for row in topic.partitions:
                if row.error_code not in MAY_FAIL:
                    self._unexpected(SHARE_FETCH, row.error_code)
                elif row.acquired_records:
                    self._deliver(session, (topic.topic_id, row.partition_index), row)

    def _acknowledged(self, node: int, session: WorkerSession, answer: Any) -> None:
        self._goes_on(node, session, answer, SHARE_ACKNOWLEDGE)

    def _goes_on(self, node: int, session: WorkerSession, answer: Any, key: int) -> bool:
        """Count the epoch of a session, or forget a session that is lost, but not the acknowledgements that are owed."""
        session.busy = False
        lost = (error_codes.SHARE_SESSION_NOT_FOUND, error_codes.INVALID_SHARE_SESSION_EPOCH)
        if answer is None or answer.error_code in lost:
            if self.sessions.get(node) is session:
                self.sessions[node] = WorkerSession(session.owed)
            return False
        if answer.error_code:
            self._unexpected(key, answer.error_code)
            return False
        session.epoch += 1
        return True

    def _deliver(self, session: WorkerSession, spot: Spot, row: Any) -> None:
        name = self.world.core.cluster.topics.name_of(spot[0]) or ""
        values = {record.offset: record.value or b"" for batch in read_batches(row.records) for record in decode_records(batch)}
        history = self.world.bench.history
        for run in row.acquired_records:
            offsets = range(run.first_offset, run.last_offset + 1)
            for offset in offsets:
                if offset not in values:
                    history.bench.found("history", f"record {offset} of {name}-{spot[1]} is acquired, and is not in the answer")
                    return
                history.delivers(self.group, self.member_id, {self.member_id}, (name, spot[1]), offset, values[offset])
            self._works(session, spot, offsets)

    def _works(self, session: WorkerSession, spot: Spot, offsets: range) -> None:
        """Owe the acknowledgements of these records when the work is done, and the renewal of their locks in the middle of it."""
        types = [ACCEPT if self.calm else next(self._types) for _ in offsets]
        work_ms = 0 if self.calm else self.about.work_ms
        if RENEW in types:
            if self._version(SHARE_ACKNOWLEDGE) >= MODES_SINCE:
                self._owe_later(work_ms / 2, session, spot, offsets, [each if each == RENEW else NEVER for each in types])
            types = [ACCEPT if each == RENEW else each for each in types]
        self._owe_later(work_ms, session, spot, offsets, types)

    def _owe_later(self, ms: float, session: WorkerSession, spot: Spot, offsets: range, types: Sequence[int]) -> None:
        life = self._lives

        def owe() -> None:
            if self.alive and self._lives == life:
                # A session that was lost meanwhile has a successor, whose broker is asked.
                found = next((each for each in self.sessions.values() if each is session or spot in each.slots), session)
                found.owed.setdefault(spot, []).extend(_runs(offsets, types))

        self.world.later(ms, owe)

    # -- acknowledging

    def _acknowledgement(self, owed: dict[Spot, list[Batch]], epoch: int) -> k79.ShareAcknowledgeRequest:
        topics = []
        for topic, spots in groupby(sorted(owed), lambda spot: spot[0]):
            rows = [k79.AcknowledgePartition(partition_index=spot[1], acknowledgement_batches=_batches(owed[spot])) for spot in spots]
            topics.append(k79.AcknowledgeTopic(topic_id=topic, partitions=rows))
        return k79.ShareAcknowledgeRequest(
            group_id=self.group, member_id=self.member_id, share_session_epoch=epoch, is_renew_ack=_renews(owed), topics=topics
        )

    # -- what it makes of errors

    def _unexpected(self, key: int, code: int) -> None:
        self.world.bench.found("answers", f"{self.name} is answered {code} to API {key}, which it has done nothing to deserve")

    def _in_life(self, then: Answered) -> Answered:
        """Wrap a callback so that its call is ignored once the process has died. Sessions outlive the coordinator."""
        life = self._lives

        def came(answer: Any) -> None:
            if self.alive and self._lives == life:
                then(answer)

        return came


def _renews(owed: dict[Spot, list[Batch]]) -> bool:
    return any(RENEW in types for batches in owed.values() for _, _, types in batches)


def _taken(session: WorkerSession) -> dict[Spot, list[Batch]]:
    owed, session.owed = session.owed, {}
    return owed


def _runs(offsets: range, types: Sequence[int]) -> Iterator[Batch]:
    """Yield the records that are acknowledged as batches, one for each run of offsets without NEVER."""
    for never, group in groupby(zip(offsets, types, strict=True), lambda each: each[1] == NEVER):
        batch = list(group)
        if not never:
            kinds = [kind for _, kind in batch]
            yield batch[0][0], batch[-1][0], kinds[:1] if len(set(kinds)) == 1 else kinds


def _batches(owed: Iterable[Batch]) -> list[k78.AcknowledgementBatch]:
    """Return the batches in the order of offsets. Of two that overlap, which belong to two deliveries, the later one is dropped."""
    found: list[k78.AcknowledgementBatch] = []
    for first, last, types in sorted(owed, key=lambda batch: batch[:2]):
        if not found or first > found[-1].last_offset:
            found.append(k78.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types))
    return found
