"""The objects that rules judge: connections, groups and members, and their requests with the answers.

They contain only what the wire shows, which can be known in front of a real cluster too: rows of the kinds open, close, request, reply and
abandoned. The coordinator's view of a group (rows `moved` and `member`) is on no wire. Only a group's `fold` reads it, to know which of a
leader's assignments counts. In front of a real cluster the recorder writes these rows.

The `notes` of a subject belong to the rules. What a rule remembers about a member is dropped with the member, so that an audit keeps only
what is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from groupmock_codec import APIS, error_codes
from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT
from groupmock_codec.units import NS_PER_MS

from ..journal.whose import bytes_of
from ..rounds.embedded import Claim, Partitions, claim_of
from ..rounds.rebalance_model import short_name
from ..text.printable import one_line
from .order import Order

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..journal.rows import CloseRow
    from ..rounds import GroupFold
    from .agenda import Appointment

Json = Mapping[str, Any]
T = TypeVar("T")


NONE: Final = error_codes.NONE
NO_ERRORS: Final[frozenset[int]] = frozenset()
COORDINATOR_LOAD_IN_PROGRESS: Final = error_codes.COORDINATOR_LOAD_IN_PROGRESS
COORDINATOR_NOT_AVAILABLE: Final = error_codes.COORDINATOR_NOT_AVAILABLE
NOT_COORDINATOR: Final = error_codes.NOT_COORDINATOR
ILLEGAL_GENERATION: Final = error_codes.ILLEGAL_GENERATION
INCONSISTENT_GROUP_PROTOCOL: Final = error_codes.INCONSISTENT_GROUP_PROTOCOL
INVALID_GROUP_ID: Final = error_codes.INVALID_GROUP_ID
UNKNOWN_MEMBER_ID: Final = error_codes.UNKNOWN_MEMBER_ID
INVALID_SESSION_TIMEOUT: Final = error_codes.INVALID_SESSION_TIMEOUT
REBALANCE_IN_PROGRESS: Final = error_codes.REBALANCE_IN_PROGRESS
GROUP_AUTHORIZATION_FAILED: Final = error_codes.GROUP_AUTHORIZATION_FAILED
MEMBER_ID_REQUIRED: Final = error_codes.MEMBER_ID_REQUIRED
GROUP_MAX_SIZE_REACHED: Final = error_codes.GROUP_MAX_SIZE_REACHED
FENCED_INSTANCE_ID: Final = error_codes.FENCED_INSTANCE_ID
UNSTABLE_OFFSET_COMMIT: Final = error_codes.UNSTABLE_OFFSET_COMMIT
HARMLESS: Final = frozenset((COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, REBALANCE_IN_PROGRESS))
"""Errors after which the member keeps its id. After any other error a client may begin anew; some do so after ILLEGAL_GENERATION (22)."""




class Subject:
    """A connection, group or member that rules judge. `notes` has the memory of each rule, by the rule's code, and the `course` of a
    consumer. `due` has the appointments about the subject. `gone` is true when the subject has ended, and `doubted` when an answer about
    it contradicted earlier rows (`contradictions`)."""

    __slots__ = ("doubted", "due", "gone", "notes")

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}
        self.due: set[Appointment] = set()
        self.gone = self.doubted = False

    def go(self) -> None:
        """Cancel all appointments about this connection, group or member, because it is gone."""
        self.gone = True
        for each in tuple(self.due):
            each.off()

    def note(self, code: str, make: Callable[[], T]) -> T:
        """Return what the rule with this code remembers, which is created on first use."""
        found: T | None = self.notes.get(code)
        if found is None:
            found = self.notes[code] = make()
        return found


class Pulse(Protocol):
    """A running broker, which knows the times of repeated heartbeats that have no rows."""

    def beaten(self, number: int) -> tuple[int, int, int]:
        """Return the time (ns) of the last repeated heartbeat on this connection, the number of its row or 0, and how many heartbeats
        of the connection had no rows."""

    def retell(self, number: int) -> None:
        """Report the next heartbeat on this connection as a row."""


class Link(Subject):
    """A connection of a client to `node`. `open` maps tickets to requests without an answer, oldest first. `client_id` is that of the last
    request, and `last` the member that last used the connection. `closed` has the time (ns) and the side that closed, `ending` the row that
    says so, and `stopping` the row that says that the process was asked to stop. `opened` is the time (ns) at which the connection began,
    or -1 if it is older than the journal. `software` is the library's name and version from
    ApiVersions (KIP-511), or None. `spoke` and `sought` are the times (ns) of the last request and the last FindCoordinator. `lossy` is
    true if an answer was lost, and then later requests may be lost too. `troubled` is the time of that or of a Metadata answer with an
    error, and `informed` that of the last Metadata answer. `learned` is that answer with its topics and their numbers of partitions. `beat`
    is the heartbeat that may be repeated, and `calm` the longest pause (ns) between repetitions. `beats` counts the heartbeats that were
    answered, and `unreported` those that a running broker had not reported when it was last asked. `order` tells which answers the client
    had read."""

    __slots__ = (
        "beat", "beats", "calm", "client_id", "closed", "ending", "host", "informed", "last", "learned", "lossy", "node", "number", "open",
        "opened", "order", "software", "sought", "spoke", "stopping", "troubled", "unreported", "versions",
    )  # fmt: skip

    def __init__(self, number: int, host: str = "", node: int | None = None, opened: int = -1) -> None:
        super().__init__()
        self.number, self.host, self.node, self.opened = number, host, node, opened
        self.client_id: str | None = None
        self.open: dict[int, Exchange] = {}
        self.order = Order()
        self.last: Member | None = None
        self.closed: tuple[int, str] | None = None
        self.spoke = self.sought = self.troubled = self.informed = -1
        self.learned: tuple[Exchange, Mapping[str, int]] | None = None
        self.beat: Exchange | None = None
        self.beats = self.calm = self.unreported = 0
        self.lossy = False
        self.ending: CloseRow | None = None
        self.stopping: int | None = None
        self.software: tuple[str, str] | None = None
        self.versions: dict[int, tuple[int, int]] | None = None
        """Maps API keys to the lowest and highest version that the broker's ApiVersions answer gave on this connection. None without
        such an answer."""

    @property
    def client(self) -> tuple[str, str | None]:
        """Host and client id, which is all that Kafka's protocol tells of a client process. Two processes may have the same values."""
        return self.host, self.client_id


class Member(Subject):
    """A member as its own client knows it, so that only answers that reached the client count.

    Requests: `joining` and `syncing` wait for an answer. `joined` is the last successful JoinGroup, `wish` the last JoinGroup with any
    result, `synced` the last SyncGroup. `beat` is the last heartbeat, `beating` has those without an answer, and `beats` those that may be
    repeated, one per connection. `leaving` is the LeaveGroup from the moment it was sent, because a client does not wait for its answer.
    `ended` is the exchange that ended the member: a LeaveGroup, an answer UNKNOWN_MEMBER_ID (25) or FENCED_INSTANCE_ID (82), or a JoinGroup
    by which the connection became another member.

    State: `told` has the assigned partitions, or None before the first assignment, if it is unreadable, or after the member lost its place.
    `had` has the previous assignment. `before` is the previous member of this connection. `born` is true if an answer gave the member its
    id. `link` is the connection that it used last, and `since` the time when it was first seen.

    Times (ns): `alive` is its last sign of life, which is a heartbeat, a commit, or the answer to a JoinGroup or SyncGroup. `heard` is its
    last finished exchange. `confirmed` is its last answer without an error, and `doubt` the longest time without one since it joined.
    `lapsed` is the sign of life after which its session passed, although its process sent other requests and had no reason for silence, or
    None.
    """

    __slots__ = (
        "alive", "beat", "beating", "beats", "before", "born", "client_id", "confirmed", "doubt", "ended", "group", "had", "heard",
        "host", "id", "instance_id", "joined", "joining", "lapsed", "leaving", "link", "seen", "since", "synced", "syncing", "told",
        "watched", "wish",
    )  # fmt: skip

    def __init__(self, group: Group, member_id: str, x: Exchange) -> None:
        super().__init__()
        self.group, self.id, self.since, self.seen = group, member_id, x.at, x.at
        self.client_id, self.host = x.client_id, x.link.host
        self.instance_id: str | None = None
        self.link = x.link
        self.wish: Exchange | None = None
        self.joining: Exchange | None = None
        self.joined: Exchange | None = None
        self.syncing: Exchange | None = None
        self.synced: Exchange | None = None
        self.told: Partitions | None = None
        self.had: Partitions | None = None
        self.born = False
        self.before: Member | None = None
        self.ended: Exchange | None = None
        self.leaving: Exchange | None = None
        self.alive = x.at
        self.heard: Exchange | None = None
        self.confirmed = -1
        self.doubt = 0
        self.lapsed: int | None = None
        self.watched = False
        self.beat: Exchange | None = None
        self.beating: list[Exchange] = []
        self.beats: list[Exchange] = []

    @property
    def name(self) -> str:
        """The member's name for texts: the client id and four characters of what the coordinator appended to it."""
        return one_line(short_name(self.id, self.instance_id or self.client_id or "")) or "a member without a name"

    @property
    def generation(self) -> int:
        """Return the generation of the member's last successful JoinGroup, or -1 without one."""
        return -1 if self.joined is None or self.joined.answer is None else int(self.joined.answer["generation_id"])

    @property
    def leads(self) -> bool:
        """Return whether the last JoinGroup answer says that the member leads."""
        return self.joined is not None and self.joined.answer is not None and self.joined.answer["leader"] == self.id

    @property
    def protocol_type(self) -> str:
        """The protocol type (consumer, connect, ...), or "" before the member has joined."""
        return "" if self.wish is None else str(self.wish.asked["protocol_type"])

    @property
    def protocol(self) -> str:
        """The assignor of the member's generation, or "" without a generation."""
        return "" if self.joined is None or self.joined.answer is None else str(self.joined.answer["protocol_name"] or "")

    @property
    def session_ns(self) -> int:
        """The member's session timeout, or 0 before it has joined."""
        return 0 if self.wish is None else int(self.wish.asked["session_timeout_ms"]) * NS_PER_MS

    @property
    def rebalance_ns(self) -> int:
        """The rebalance timeout of the member. JoinGroup v0 has none, so the session timeout counts (KIP-62)."""
        if self.wish is None:
            return 0
        told = int(self.wish.asked.get("rebalance_timeout_ms", -1))
        return self.session_ns if self.wish.version == 0 or told < 0 else told * NS_PER_MS

    def claim(self, wish: Exchange | None = None) -> Claim | None:
        """Return the topics and owned partitions that the member claimed in a JoinGroup (by default its last one). None if it lists
        nothing."""
        asked = self.wish if wish is None else wish
        listed = {} if asked is None else protocols_of(asked)
        if not listed:
            return None
        name = self.protocol if self.protocol in listed else next(iter(listed))
        return claim_of(self.protocol_type, name, listed[name])


class Group(Subject):
    """A group as the requests and answers of its members show it. `fold` has its generations, as all rows show them, for rules that need to
    know what a leader has assigned. `waiting` has requests about the group without an answer."""

    __slots__ = ("fold", "members", "name", "waiting")

    def __init__(self, fold: GroupFold) -> None:
        super().__init__()
        self.fold, self.name = fold, fold.name
        self.members: dict[str, Member] = {}
        self.waiting = 0


Identity = tuple[str, int, int]
"""A transactional id with a producer id and epoch."""
Place = tuple[str, str, int]
"""A group with a topic and the number of its partition."""


class Producer(Subject):
    """A transactional producer as its client knows it. `begun` is the InitProducerId that gave it its producer id. `groups` maps groups to
    the AddOffsetsToTxn of the open transaction, `wrote` is the first request that put a partition into it, and `sent` maps partitions to
    the last TxnOffsetCommit about them and its offset. `ended` is the last EndTxn if it succeeded and the producer has begun nothing since.
    `troubled` is true after an error, an abort or a lost answer, because a client may begin anew then."""

    __slots__ = ("begun", "ended", "groups", "identity", "links", "sent", "troubled", "wrote")

    def __init__(self, identity: Identity, begun: Exchange) -> None:
        super().__init__()
        self.identity, self.begun = identity, begun
        self.links: set[Link] = set()
        self.groups: dict[str, Exchange] = {}
        self.wrote: Exchange | None = None
        self.sent: dict[Place, tuple[Exchange, int]] = {}
        self.ended: Exchange | None = None
        self.troubled = False

    def says(self, x: Exchange) -> None:
        """Note what a request puts into the transaction; the first one after EndTxn begins another transaction."""
        if x.key == END_TXN:
            return
        if self.ended is not None:
            self.ended = self.wrote = None
            self.groups.clear()
            self.sent.clear()
        if x.key == ADD_OFFSETS_TO_TXN:
            self.groups[str(x.asked["group_id"])] = x
        elif x.key == TXN_OFFSET_COMMIT:
            group = str(x.asked["group_id"])
            self.sent.update({(group, *partition): (x, offset) for partition, offset in committed_of(x).items()})
        else:
            self.wrote = self.wrote or x


class Exchange:
    """A request, with its answer once there is one. Times are in ns of the journal.

    `at` is when the request was handled, `received` when its last byte came, and `seq` its row. `member` is the sender, or None if the
    request has no id, and `producer` the transactional producer that it names, if known. `answer` is the answer's JSON, or None while there
    is none and for APIs whose answers no rule reads. `answered` is its time, `written` the time at which it went to the connection (None:
    unknown), and `delivered` says whether it was sent. `abandoned` means that no answer will come. `read` keeps the embedded messages,
    which are read once (`inside`). For a `repeated` heartbeat, times and rows are those of its last repetition. `behind` is true if the
    request was read before the answer to an earlier one was written, so that it may have been sent long before. `stalled` is how long (ns)
    the broker had been held up in this journal when it handled the request, and `stalled_when_written` when it wrote the answer (`stalls`).
    """

    __slots__ = (
        "_errors", "abandoned", "answer", "answer_seq", "answered", "asked", "at", "behind", "client_id", "correlation_id", "delivered",
        "group", "key", "link", "member", "producer", "read", "received", "repeated", "seq", "stalled", "stalled_when_written", "ticket",
        "version", "written",
    )  # fmt: skip

    def __init__(self, row: Any, asked: Json, link: Link) -> None:
        self.seq, self.at, self.received, self.ticket = row.seq, row.t, row.received, row.ticket
        self.key, self.version, self.client_id = row.api_key, row.api_version, row.client_id
        self.correlation_id = row.correlation_id
        self.asked, self.link = asked, link
        self.group: Group | None = None
        self.member: Member | None = None
        self.producer: Producer | None = None
        self.answer: Json | None = None
        self._errors: frozenset[int] | None = None
        self.answered: int | None = None
        self.written: int | None = None
        self.answer_seq = 0
        self.delivered = False
        self.abandoned = False
        self.read: dict[str, Any] = {}
        self.repeated = self.behind = False
        self.stalled = self.stalled_when_written = 0

    def bare(self) -> Exchange:
        """Return a copy with times, rows and connection, but without what was said and who said it, for a rule that remembers many."""
        found = copy(self)
        found.asked, found.answer, found.read, found.member, found.group, found.producer = {}, None, {}, None, None, None
        return found

    @property
    def name(self) -> str:
        return api_name(self.key)

    @property
    def who(self) -> str:
        """The name of the sender for texts, which is the member's name or else the client id."""
        return self.member.name if self.member is not None else one_line(self.client_id or "") or "a client without a name"

    @property
    def client(self) -> tuple[str, str | None]:
        """Host and client id of the sender, see `Link.client`."""
        return self.link.host, self.client_id

    @property
    def heard(self) -> bool:
        """Return whether an answer exists and reached the client, as far as the broker knows."""
        return self.delivered

    @property
    def error(self) -> int:
        """The error code of the whole answer; 0 without an answer."""
        return 0 if self.answer is None else int(self.answer.get("error_code", 0))

    @property
    def errors(self) -> frozenset[int]:
        """All error codes of the answer except 0, including those of topics, partitions, groups and members."""
        if self.answer is None:
            return NO_ERRORS
        if self._errors is None:  # The errors are cached, because many rules ask for them and an answer does not change.
            self._errors = frozenset(_codes(self.answer)) or NO_ERRORS
        return self._errors

    @property
    def rows(self) -> tuple[int, ...]:
        """Return the row numbers of the request and its answer."""
        return (self.seq, self.answer_seq) if self.answer_seq else (self.seq,)

    @property
    def speaker(self) -> Member | None:
        """Return the member that sent the request, found by its id. If the id is new or missing, it is the connection's last member in
        the same group. A client has a coordinator's connection to itself."""
        last = self.link.last
        if self.member is not None and (self.member.joined is not None or self.member.wish is not None):
            return self.member
        same = last is not None and self.group is not None and last.group.name == self.group.name
        return last if same else None

    def waited_since(self, other: Exchange) -> int:
        """Return the ns between the answer of `other` and the arrival of this request, negative if this request came earlier."""
        return -1 if other.answered is None else int(self.received - other.answered)


def api_name(key: int) -> str:
    """Return Kafka's name of an API, or a text with the number of an unknown API."""
    return APIS[key].name if key in APIS else f"API {key}"


def protocols_of(join: Exchange) -> dict[str, bytes]:
    """Return the metadata of each protocol in a JoinGroup, in the client's order of preference."""
    return {str(each["name"]): bytes_of(each["metadata"]) for each in join.asked["protocols"]}


def committed_of(commit: Exchange) -> Mapping[tuple[str, int], int]:
    """Return the offset of each (topic, partition) in an OffsetCommit or TxnOffsetCommit. They are read once, because several rules ask."""
    found: dict[tuple[str, int], int] | None = commit.read.get("committed")
    if found is None:
        found = commit.read["committed"] = {
            (str(topic.get("name") or topic.get("topic_id")), int(each["partition_index"])): int(each["committed_offset"])
            for topic in commit.asked["topics"]
            for each in topic["partitions"]
        }
    return found


def _codes(answer: Json) -> set[int]:
    found, todo = set(), [answer]
    while todo:
        for name, each in todo.pop().items():
            if name == "error_code":
                found.add(each)
            elif each.__class__ is dict:
                todo.append(each)
            elif isinstance(each, (list, tuple)):
                todo.extend(inner for inner in each if inner.__class__ is dict)
    found.discard(NONE)
    return found
