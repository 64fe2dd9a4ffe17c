"""The picture of a journal is pure data, which the forms (HTML, SVG, Perfetto) draw without adding anything.

Times are ns since the `epoch_ns` of their source. A span whose `until` is None lasts to the end of its journal. Texts of peers are
printable already (`text.printable`). In JSON, objects that may be numerous are arrays in the order of their fields, and refer to partitions
and texts by index in `Timeline.sets` and `Timeline.texts`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ..rounds import JOINT, OWNED, PALE, SHARED, UNKNOWN, UNOWNED

APIS: Final = (
    "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup", "TxnOffsetCommit", "ConsumerGroupHeartbeat",
    "ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge", "StreamsGroupHeartbeat",
)  # fmt: skip
"""The APIs whose requests are drawn as marks; `Mark.api` is an index into this tuple."""
OK: Final = "ok"
"""The result of a mark whose answer arrived without an error."""
LOST: Final = "the answer did not arrive"
NEVER: Final = "never answered"
OPEN: Final = "no answer in this journal"
"""The result of a mark without an answer in the journal, which is no error of Kafka."""
WAITS: Final = "waits for its answer"
"""The result of a request that is still open, in a picture that grows."""
EXPECTED: Final = ("MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS")
"""Errors with which a coordinator only guides a member: to come back with an id (KIP-394), or to join again."""


OWNERSHIP: Final = (OWNED, PALE, UNOWNED, SHARED, UNKNOWN, JOINT)
"""The states of partitions in the ownership map; `Stretch.state` is an index into this tuple."""


class Life(msgspec.Struct, omit_defaults=True):
    """A life is a stay of a member in its group. `came` and `gone` say how, in a sentence; `cause` is the coordinator's word for why it
    left."""

    since: int
    came: str
    until: int | None = None
    gone: str = ""
    cause: str = ""


class Band(msgspec.Struct, array_like=True):
    """The partitions or active tasks that a member owned for some time, or its standby tasks; `held` is an index into `Timeline.sets`."""

    since: int
    until: int | None
    held: int


class Mark(msgspec.Struct, array_like=True):
    """A request of a member and its answer, drawn as one mark, or `count` requests with equal results that would be drawn side by side.

    `at` and `until` are the times of the first and last request, and `seq` is the row of the first. `api` is an index into APIS. `result`,
    `asked` and `answered` are indexes into `Timeline.texts`; the latter two describe the first request. `latency` is the longest time (ns)
    from the last byte of a request to the answer.
    """

    at: int
    until: int
    api: int
    result: int
    count: int
    latency: int
    seq: int
    asked: int
    answered: int


class Event(msgspec.Struct, omit_defaults=True):
    """An event that concerns one or more members. `kind` is fault, command, finding, closed, refused, says or note, and `text` has details.
    `severity` and `rows` are those of a finding. `count` equal events happened from `at` to `until`."""

    at: int
    until: int
    kind: str
    title: str
    text: str = ""
    severity: str = ""
    count: int = 1
    rows: tuple[int, ...] = ()


class Lane(msgspec.Struct, omit_defaults=True):
    """The row of the picture that shows one member. `label` is the client or instance id with four characters of the member id, and
    `process` an index into `Group.processes`. `standbys` are the standby tasks of a member of a streams group. A lane without `lives` has
    only refused requests, of a client that never became a member, and no process (-1)."""

    label: str
    member_id: str = ""
    client_id: str = ""
    instance: str = ""
    host: str = ""
    library: str = ""
    process: int = -1
    lives: list[Life] = []
    bands: list[Band] = []
    marks: list[Mark] = []
    events: list[Event] = []
    standbys: list[Band] = []


class State(msgspec.Struct, omit_defaults=True):
    """A state of the group for some time, with the reason of the change to it."""

    since: int
    until: int | None
    state: str
    generation: int
    members: int
    reason: str = ""
    cause: str = ""


class GenerationFacts(msgspec.Struct, omit_defaults=True):
    """Facts about a generation and the members that joined it. `planned` is when the leader's assignment was accepted (None: never);
    `heard` counts the members that received theirs."""

    number: int
    began: int
    leader: str
    protocol: str
    members: int
    planned: int | None = None
    heard: int = 0
    settled: bool = False


class Round(msgspec.Struct, omit_defaults=True):
    """The facts of one rebalance as numbers and texts, taken from `groupmock.rounds.Rebalance`. `moves` counts the partitions that moved
    to another process (None: the rows do not say so)."""

    number: int
    began: int
    ended: int | None
    ended_in: str
    reason: str
    cause: str
    generation_before: int
    generation_after: int
    members: int
    leader: str = ""
    last_joined: str = ""
    moves: int | None = 0
    first_join: bool = False
    preparing: int = 0
    completing: int = 0

    @property
    def title(self) -> str:
        """Return the words that name the rebalance in a picture."""
        named = "first join" if self.first_join else "rebalance"
        return named if self.ended is None else f"{named}, generation {self.generation_after}"


class Stretch(msgspec.Struct, array_like=True):
    """Partitions whose ownership was alike for a time: a part of the ownership map (`groupmock.rounds.Span`). `state` is an index into
    OWNERSHIP, and `processes` has indexes into `Group.processes`."""

    since: int
    until: int | None
    held: int
    state: int
    processes: list[int]


class Possession(msgspec.Struct, array_like=True):
    """The records of a partition that a member of a share group had acquired for some time: their number, and their offsets in words."""

    since: int
    until: int | None
    number: int
    records: str


class RecordEvent(msgspec.Struct, array_like=True):
    """An event says what became of records. `kind` is again, lost, archived or accepted (`record_track`)."""

    at: int
    kind: str
    label: str
    title: str
    why: str = ""


class RecordLane(msgspec.Struct, omit_defaults=True):
    """The records of one partition that one member of a share group had. `process` is an index into `Group.processes`, or -1 for a member
    that only fetches."""

    partition: str
    member_id: str
    label: str = ""
    process: int = -1
    spans: list[Possession] = []
    events: list[RecordEvent] = []


class Group(msgspec.Struct, omit_defaults=True):
    """A group of a journal; `source` is an index into `Timeline.sources`. Lanes are in the order in which their members were first
    seen. A process is named by its instance id or client id and is the same when it comes back as another member. `processes` are in the
    order of their names, those that came after the first picture of a run last. `owners` is the ownership map, and `headline` says in a few
    sentences what happened and what it cost. `records` are those that members of a share group had in flight."""

    name: str
    source: int
    states: list[State] = []
    rounds: list[Round] = []
    generations: list[GenerationFacts] = []
    processes: list[str] = []
    owners: list[Stretch] = []
    lanes: list[Lane] = []
    events: list[Event] = []
    headline: str = ""
    records: list[RecordLane] = []


class Transaction(msgspec.Struct, omit_defaults=True):
    """A transaction from its begin until its markers were written. `outcome` is commit or abort from `decided` on, and committed or aborted
    at the end. `reason` is why it began or was decided, and `partitions` those that it wrote to."""

    since: int
    until: int | None = None
    outcome: str = ""
    decided: int | None = None
    reason: str = ""
    partitions: str = ""


class TransactionLane(msgspec.Struct, omit_defaults=True):
    """The row of the picture that shows one transactional id. `producer` says its newest producer id and epoch."""

    name: str
    producer: str = ""
    transactions: list[Transaction] = []
    events: list[Event] = []


class HeldBack(msgspec.Struct, omit_defaults=True):
    """A partition whose last stable offset stays at `offset` because of an open transaction of the transactional id `name`. Readers of
    committed records do not get the `records` behind it, as many as the rows show."""

    since: int
    partition: str
    name: str
    offset: int
    records: int = 0
    until: int | None = None


class Source(msgspec.Struct, omit_defaults=True):
    """A journal of the picture, drawn from `begin` to `end`. `notices` has a sentence for each thing that is missing or left out.
    `events` are those of no group. `transactions` are the lanes of transactional ids, `held_back` what they hold back, and `headline` says
    which transactions are open for long."""

    name: str
    run: str
    product: str
    profile: str
    epoch_ns: int
    begin: int
    end: int
    notices: list[str] = []
    events: list[Event] = []
    transactions: list[TransactionLane] = []
    held_back: list[HeldBack] = []
    headline: str = ""


class Topics(msgspec.Struct, array_like=True):
    """Partitions of one topic, as the index of the topic in `Timeline.topics` and the partition numbers."""

    topic: int
    numbers: list[int]


class Figure(msgspec.Struct):
    """A number of one journal beside that of the other one, as texts, with the difference."""

    name: str
    before: str
    after: str
    difference: str


class Comparison(msgspec.Struct):
    """The figures of one group in two journals."""

    group: str
    figures: list[Figure]


class Timeline(msgspec.Struct):
    """The data of a whole picture with all of its journals. `comparisons` has the differences of two journals that were compared."""

    groupmock: str
    sources: list[Source]
    groups: list[Group]
    topics: list[str]
    sets: list[list[Topics]]
    texts: list[str]
    apis: tuple[str, ...] = APIS
    expected: tuple[str, ...] = EXPECTED
    comparisons: list[Comparison] = []

    def partitions(self, held: int) -> int:
        """Return how many partitions are in a set."""
        return sum(len(each.numbers) for each in self.sets[held])

    @property
    def begin(self) -> int:
        """Return the time at which the axis begins (ns). Every journal counts from its own 0."""
        return min((each.begin for each in self.sources), default=0)

    @property
    def end(self) -> int:
        """Return the time at which the axis ends (ns), which is after `begin`."""
        return max(self.begin + 1, *(each.end for each in self.sources)) if self.sources else 1
