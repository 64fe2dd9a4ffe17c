"""Read the messages embedded in JoinGroup and SyncGroup for the rules: strictly, once per message, and at most READ_ELEMENTS elements. A
larger message is not judged (None).

Whether a member is eager or cooperative follows from its Subscriptions, because any assignor may have any name. A Subscription of version 1
or later states which partitions the member keeps while it joins (KIP-429). A member that states none has given up everything, as one does
whose Subscription cannot state any and has no data of an assignor that might (version 0, KafkaJS's RoundRobinAssigner). The audit relies on
names only where a name is a promise that others rely on: members of `range`, `roundrobin` and `sticky` keep nothing, and those of
`cooperative-sticky` (KIP-429) and of Designs I to III may. A member that lists several protocols which do not state the same partitions, or
of which one is eager, follows the eager rules, as the Java client does, which uses the highest rebalance protocol that *all* its assignors
support. An unknown protocol whose Subscription owns nothing may be either, so rules that need to know do not judge it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from groupmock_codec.api_keys import SYNC_GROUP
from groupmock_codec.embedded import connect, consumer, designs
from groupmock_codec.embedded.consumer import READ_ELEMENTS
from groupmock_codec.embedded.sticky import read_cooperative_generation
from groupmock_codec.errors import DecodeError, Place, TooManyElements

from ..journal.whose import bytes_of
from ..rounds.embedded import EAGER, REMEMBERED, Partition, Partitions, flat, told_of
from ..text.printable import one_line
from .request_contents import assignments_of
from .subjects import NONE, protocols_of

if TYPE_CHECKING:
    from .subjects import Exchange, Json, Member

CONSUMER: Final = "consumer"
CONNECT: Final = "connect"
STICKY: Final = "cooperative-sticky"
COOPERATIVE: Final = frozenset({STICKY}) | frozenset(designs.NAMES)
ROUND_ROBIN_OF_KAFKAJS: Final = "RoundRobinAssigner"
ONCE: Final = EAGER | COOPERATIVE | {ROUND_ROBIN_OF_KAFKAJS}
"""Assignors that are known to assign every partition to one member."""
INCREMENTAL: Final = frozenset({"compatible", "sessioned"})
"""Connect's protocols whose assignments only list the changes (KIP-415)."""
NAMED: Final = 3
READ: Final = "embedded consumer protocol cannot be read"
T = TypeVar("T")


class Subscribed(NamedTuple):
    """The content of a consumer's Subscription. `generation` is -1 if the Subscription has none. `silent` is true if the Subscription does
    not state which partitions the member keeps, but may have them in the data of an unknown assignor. `wrong` is the reason why the bytes
    are not a Subscription; the other fields are empty then."""

    protocol: str
    version: int
    topics: frozenset[str]
    owned: Partitions
    generation: int
    rack: str | None = None
    wrong: str | None = None
    silent: bool = False

    @property
    def cooperative(self) -> bool:
        """Return whether the protocol lets the member keep its partitions while it joins."""
        return self.wrong is None and (self.protocol in COOPERATIVE or (self.protocol not in EAGER and bool(self.owned)))


class Told(NamedTuple):
    """The content of a consumer's Assignment: the partitions held from now on, the partitions to give up if it names them, and whether
    it is `wrong`."""

    assigned: Partitions
    revoked: Partitions = frozenset()
    wrong: str | None = None


class Worker(NamedTuple):
    """The content of a Connect worker's metadata. `allocation` has the (connector, task) pairs that the worker runs, or None if the
    metadata has none. `wrong` is the reason why the bytes are not readable."""

    version: int
    url: str
    offset: int
    allocation: Partitions | None
    wrong: str | None = None


class Work(NamedTuple):
    """The content of a Connect assignment: what to start, what to stop, and after how many ms to join again."""

    version: int
    assigned: Partitions
    revoked: Partitions
    delay: int
    error: int = 0
    wrong: str | None = None


class Plan:
    """The generation that a leader has to assign, as the answer to its JoinGroup describes it. `claims` maps members to metadata. `skip`
    is true if that answer forbids the leader to assign (KIP-814). `row` is the answer's row. Equal bytes are read only once."""

    def __init__(self, join: Exchange, answer: Json) -> None:
        self.generation = int(answer["generation_id"])
        self.protocol, self.protocol_type = str(answer["protocol_name"] or ""), str(join.asked["protocol_type"])
        self.claims = {str(each["member_id"]): bytes_of(each["metadata"]) for each in answer["members"]}
        self.skip = bool(answer.get("skip_assignment"))
        self.row = join.answer_seq
        self._read: dict[tuple[str, bytes], Any] = {}

    def once(self, kind: str, data: bytes, make: Callable[[bytes], T]) -> T:
        """Return the decoded bytes from a cache by kind, so that equal bytes are read only once."""
        key = (kind, data)
        if key not in self._read:
            self._read[key] = make(data)
        found: T = self._read[key]
        return found


# -- of one message


@lru_cache(REMEMBERED)
def subscription(protocol: str, data: bytes) -> Subscribed | None:
    """Read a Subscription of version 0 to 3, to the last byte. In later versions the bytes after the known fields are ignored, as
    readers do."""
    try:
        return _literal(protocol, data) if protocol == "coop-d2-literal" else _stock(protocol, data)
    except TooManyElements:
        return None
    except DecodeError as problem:
        return Subscribed(protocol, -1, frozenset(), frozenset(), -1, None, _why(problem))


@lru_cache(REMEMBERED)
def assignment(protocol: str, data: bytes) -> Told | None:
    """Read an Assignment of version 0 to 3, to the last byte, or the form of a design document if the protocol carries that."""
    try:
        if protocol in designs.LITERAL:
            literal = designs.decode_assignment(data)
            return Told(flat(literal.assigned_topic_partitions), flat(literal.revoke_topic_partitions))
        found = consumer.ASSIGNMENT.decode(_known(data), data, trailing=_later(data), max_elements=READ_ELEMENTS)
        carried = designs.carried_assignment(found.user_data) if protocol in designs.NESTED else None
        return Told(flat(found.assigned_partitions), frozenset() if carried is None else flat(carried.revoke_topic_partitions))
    except TooManyElements:
        return None
    except DecodeError as problem:
        return Told(frozenset(), frozenset(), _why(problem))


def worker(data: bytes) -> Worker | None:
    """Read the metadata of a Connect worker and the allocation nested in it."""
    try:
        found = connect.decode_metadata(data)
        held = None if not found.allocation else connect.decode_assignment(found.allocation)
    except TooManyElements:
        return None
    except DecodeError as problem:
        return Worker(-1, "", -1, None, _why(problem))
    return Worker(found.version, found.url, found.config_offset, None if held is None else _tasks(held.assigned))


@lru_cache(REMEMBERED)
def work(data: bytes) -> Work | None:
    try:
        found = connect.decode_assignment(data)
    except TooManyElements:
        return None
    except DecodeError as problem:
        return Work(-1, frozenset(), frozenset(), 0, 0, _why(problem))
    return Work(found.version, _tasks(found.assigned), _tasks(found.revoked), found.delay, found.error)


# -- of a JoinGroup, a round, a SyncGroup


def subscriptions_of(join: Exchange) -> dict[str, Subscribed | None]:
    """Return the Subscription of each protocol in a JoinGroup of type consumer, or {} for other types."""
    if join.asked["protocol_type"] != CONSUMER:
        return {}
    return _of(join, "subscriptions", lambda: {name: subscription(name, data) for name, data in protocols_of(join).items()})


def workers_of(join: Exchange) -> dict[str, Worker | None]:
    """Return the metadata of each protocol in a JoinGroup of type connect, or {} for other types."""
    if join.asked["protocol_type"] != CONNECT:
        return {}
    return _of(join, "workers", lambda: {name: worker(data) for name, data in protocols_of(join).items()})


def cooperative_of(join: Exchange | None, protocol: str = "") -> Subscribed | None:
    """Return the Subscription of a cooperative member in its JoinGroup: that of the protocol `protocol` if it is listed, otherwise that
    of the first. None if the member is not known to be cooperative or the bytes cannot be read."""
    listed = {} if join is None else subscriptions_of(join)
    if not listed or any(name in EAGER for name in listed):
        return None
    found = listed[protocol] if protocol in listed else next(iter(listed.values()))
    if found is None or any(each is None or each.owned != found.owned for each in listed.values()):
        return None
    return found if found.cooperative else None


def kept_in(join: Exchange | None, protocol: str) -> Partitions | None:
    """Return the partitions that a member says in its JoinGroup that it keeps meanwhile, whatever its assignor is called. None if its
    Subscription does not say so."""
    found = None if join is None else subscriptions_of(join).get(protocol)
    return None if found is None or found.wrong is not None or found.silent else found.owned


def plan_of(sync: Exchange) -> Plan | None:
    """Return the generation that its leader assigns by this SyncGroup. None if the sender is not the leader, or if the generation is
    over or was assigned before. A leader that asks again gets its own assignment once more, unless the first SyncGroup was refused."""
    member, generation = sync.member, None if sync.group is None else sync.group.fold.generation
    join = None if member is None or not member.leads else member.joined
    answer = None if join is None else join.answer
    if generation is None or join is None or answer is None or not answer["members"]:
        return None
    before = None if member is None else member.heard
    refused = before is not None and before.key == SYNC_GROUP and before.heard and before.error != NONE and before.seq > join.seq
    if generation.told and (generation.planned is not None or not refused):
        return None
    if not generation.number == answer["generation_id"] == sync.asked["generation_id"]:
        return None
    return _of(sync, "plan", lambda: Plan(join, answer))


def claimed_in(plan: Plan) -> dict[str, Subscribed | None]:
    """Return each member's Subscription in a generation that the leader has to assign."""
    return {member: plan.once("claim", data, lambda data: subscription(plan.protocol, data)) for member, data in plan.claims.items()}


def running_in(plan: Plan) -> dict[str, Worker | None]:
    """Return the metadata of each worker in a generation of Connect."""
    return {member: plan.once("worker", data, worker) for member, data in plan.claims.items()}


def given_by(plan: Plan, sync: Exchange) -> list[tuple[str, Told | None]]:
    """Return the members and their Assignments in the leader's SyncGroup."""

    def read(data: bytes) -> Told | None:
        return assignment(plan.protocol, data)

    return _of(sync, "given", lambda: [(member, plan.once("told", data, read)) for member, data in assignments_of(sync)])


def work_given_by(plan: Plan, sync: Exchange) -> list[tuple[str, Work | None]]:
    """Return the workers and their assignments in a Connect leader's SyncGroup."""
    return _of(sync, "work", lambda: [(member, plan.once("work", data, work)) for member, data in assignments_of(sync)])


def told_by(member: Member, data: bytes) -> Partitions | None:
    """Return the partitions that a member holds after it received this Assignment, or None if its bytes or their kind cannot be read."""
    claim = member.claim()
    if claim is None or not data:
        return None if claim is None else frozenset()
    if member.protocol_type not in (CONSUMER, CONNECT):
        return None
    read = work(data) if member.protocol_type == CONNECT else assignment(member.protocol, data)
    if read is None or read.wrong is not None:
        return None
    return told_of(member.protocol_type, member.protocol, data, claim).assigned


def one_process(x: Exchange, before: Exchange) -> bool:
    """Return whether both requests came from one process: on one connection, or on two of which the first has ended. Two open
    connections with the same member id may belong to two processes."""
    return x.link is before.link or (before.link.gone and x.link.client == before.link.client)


def named(partitions: Iterable[Partition]) -> str:
    """Name the first few partitions for a sentence, such as `orders/0, orders/1 and 4 more`."""
    found = sorted(partitions)
    shown = ", ".join(f"{one_line(topic)}/{number}" for topic, number in found[:NAMED])
    return shown if len(found) <= NAMED else f"{shown} and {len(found) - NAMED} more"


def _of(x: Exchange, what: str, make: Callable[[], T]) -> T:
    if what not in x.read:
        x.read[what] = make()
    found: T = x.read[what]
    return found


def _stock(protocol: str, data: bytes) -> Subscribed:
    found = consumer.SUBSCRIPTION.decode(_known(data), data, trailing=_later(data), max_elements=READ_ELEMENTS)
    owned, generation = flat(found.owned_partitions), found.generation_id if found.version >= 2 else -1
    if protocol == STICKY and generation < 0:
        generation = read_cooperative_generation(found.user_data) or -1
    elif protocol not in EAGER and (carried := designs.carried_subscription(found.user_data)) is not None:
        owned = flat(carried.assigned_topic_partitions)
    rack = found.rack_id if found.version >= 3 else None
    silent = found.version < 1 and bool(found.user_data) and protocol not in EAGER
    return Subscribed(protocol, found.version, frozenset(found.topics), owned, generation, rack, silent=silent)


def _literal(protocol: str, data: bytes) -> Subscribed:
    found = designs.decode_subscription(data)
    return Subscribed(protocol, 1, frozenset(found.subscribe_topics), flat(found.assigned_topic_partitions), -1)


def _why(problem: DecodeError) -> str:
    return one_line(f"{problem.reason}" + (f" in {problem.path}" if problem.path else "") + f", byte {problem.offset}")


def _known(data: bytes) -> int:
    if len(data) < 2:
        raise DecodeError(READ, Place(f"{len(data)} bytes have no version", "version"))
    version = int.from_bytes(data[:2], signed=True)
    if version < 0:
        raise DecodeError(READ, Place(f"version {version} is negative", "version"))
    return min(version, consumer.HIGHEST)


def _later(data: bytes) -> bool:
    return int.from_bytes(data[:2], signed=True) > consumer.HIGHEST


def _tasks(found: Iterable[connect.ConnectorTasks] | None) -> Partitions:
    return frozenset((each.connector, task) for each in found or () for task in each.tasks)
