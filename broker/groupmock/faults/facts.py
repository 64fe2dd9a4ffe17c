"""What a rule can ask about a call: read off the message by its fields' names, and what the cluster knows of the group it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec import APIS
from groupmock_codec.declare import fields_of

from .entities import Entities, answered, asked, entities_of, present
from .plan import texts

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .plan import Plan

# FindCoordinator says `key`, from v4 on `coordinator_keys` (KIP-699); OffsetFetch v8+ has `groups` (KIP-709); DeleteGroups `groups_names`.
GROUPS: Final = ("group_id", "groups", "groups_names", "group_ids", "key", "coordinator_keys")
TOPICS: Final = ("topics", "topic_data", "topic_names", "subscribed_topic_names")
# OffsetCommit's generation field is also the member epoch of the consumer protocol (KIP-848), hence its long name.
GENERATIONS: Final = ("generation_id", "generation_id_or_member_epoch")
MEMBER_EPOCHS: Final = ("member_epoch", "generation_id_or_member_epoch")
INSTANCES: Final = ("group_instance_id", "instance_id")
# AddPartitionsToTxn v4+ lists transactions (KIP-890), below that it is about one; FindCoordinator's key is one where its type says so.
TRANSACTIONS: Final = ("transactional_id", "v3_and_below_transactional_id", "transactional_ids", "transactions")
EPOCHS: Final = ("producer_epoch", "v3_and_below_producer_epoch")
LISTS_OF_MEMBERS: Final = ("members", "groups")
LEADERLESS: Final = "server_assignor"
"""A field of who lets the server assign (KIP-848): no member of such a group leads."""
KEY_TYPE: Final = "key_type"
OF_TRANSACTION: Final = 1
"""Of FindCoordinator's types of keys (CoordinatorType)."""
FIELDS: Final = {
    "group": GROUPS,
    "state": GROUPS,
    "progress": MEMBER_EPOCHS,
    "topic": TOPICS,
    "generation": GENERATIONS,
    "member_id": ("member_id",),
    "role": ("member_id",),
    "member_epoch": MEMBER_EPOCHS,
    "instance_id": (*INSTANCES, "member_id"),
    "transactional_id": (*TRANSACTIONS, KEY_TYPE),
    "transaction_state": (*TRANSACTIONS, KEY_TYPE),
    "producer_epoch": (*EPOCHS, "transactions"),
    "committed": ("committed",),
}
"""Condition -> the fields of a request of which one must be there."""
OF_ENTITIES: Final = {"partition": "partition", "resource": "resource", "topic_id": "topic"}
"""Condition -> the kind of entity that the request, or at stage reply its answer, must name."""
NO_ENTITIES: Final = Entities(lambda: ())


class GroupFacts(NamedTuple):
    """What the cluster knows of a group: Kafka's name of its state, the leader's member id, member id of each instance id, and of a
    consumer group how far each member is with its target (`core.groups.consumer.states.Progress`)."""

    state: str
    leader: str | None
    instances: Mapping[str, str]
    progress: Callable[[str], str | None]


class Facts(NamedTuple):
    """One call, as `when` sees it. `now`: ns of the run; `state` is that of the first group it names, `progress` that of the first member,
    `transaction_state` that of the first transactional id; `instance_ids`: as named, or as the group knows the members that are named."""

    stage: str
    now: int
    node: int
    connection: int
    api: str = ""
    version: int = -1
    client_id: str | None = None
    groups: tuple[str, ...] = ()
    member_ids: tuple[str, ...] = ()
    instance_ids: tuple[str, ...] = ()
    generation: int | None = None
    state: str | None = None
    role: str | None = None
    topics: tuple[str, ...] = ()
    entities: Entities = NO_ENTITIES
    transactional_ids: tuple[str, ...] = ()
    producer_epochs: tuple[int, ...] = ()
    transaction_state: str | None = None
    committed: bool | None = None
    member_epochs: tuple[int, ...] = ()
    progress: str | None = None


def _no_session(node: int, session_id: int) -> Iterable[tuple[str | None, bytes, int]]:
    return ()


def _no_transaction(transactional_id: str) -> str | None:
    return None


class Lookup(NamedTuple):
    """What has to be asked of the cluster: `group(id)`, `topic(id as 16 bytes) -> name`, `fetched(node, session id)` -> (topic, topic id,
    partition) of each partition in that fetch session, `transaction(id)` -> Kafka's name of its state."""

    group: Callable[[str], GroupFacts | None]
    topic: Callable[[bytes], str | None]
    fetched: Callable[[int, int], Iterable[tuple[str | None, bytes, int]]] = _no_session
    transaction: Callable[[str], str | None] = _no_transaction


def facts_of(place: Facts, request: Message, response: Message | None, lookup: Lookup) -> Facts:
    """`place` with what the messages say."""
    groups = tuple(_groups(request))
    # LeaveGroup v3+ names its members in a list, the request itself none (SERVER-44); OffsetFetch v9+ one beside each group (KIP-848).
    members = [request, *_structs(request, "members"), *_structs(request, "groups")]
    # A first JoinGroup has no id: only its answer tells it, with 79 (KIP-394) or with success (SERVER-02, SERVER-03).
    member_ids = _texts([*members, response] if place.api == "JoinGroup" else members, "member_id")
    group = lookup.group(groups[0]) if groups else None
    instance_ids = tuple(text for name in INSTANCES for text in _texts(members, name)) or _instances(group, member_ids)
    transactional_ids = tuple(_transactional_ids(request))
    return place._replace(
        groups=groups,
        member_ids=member_ids,
        instance_ids=instance_ids,
        generation=next((getattr(request, name) for name in GENERATIONS if hasattr(request, name)), None),
        member_epochs=tuple(_numbers(members, MEMBER_EPOCHS)),
        state=group.state if group else None,
        progress=group.progress(member_ids[0]) if group and member_ids else None,
        role=_role(group, member_ids, instance_ids),
        topics=tuple(_topics(request, lookup)),
        entities=entities_of(place.api, place.version, place.node, request, response, lookup),
        transactional_ids=transactional_ids,
        producer_epochs=tuple(_epochs(request)),
        transaction_state=lookup.transaction(transactional_ids[0]) if transactional_ids else None,
        committed=getattr(request, "committed", None),
    )


@cache
def tells(api: str, version: int, condition: str, stage: str = "request") -> bool:
    """Does a request of this version, or at stage reply its answer, hold what the condition asks about?"""
    if condition in OF_ENTITIES or condition == "topic":
        levels = (*asked(api, version), *(answered(api, version) if stage == "reply" else ()))
        named = [level for level in levels if level.kind == OF_ENTITIES.get(condition, condition)]
        if condition == "topic_id":
            named = [level for level in named if level.struct is not None and "topic_id" in present(level.struct, version)]
        if named or condition != "topic":
            return bool(named)
    wanted, told = FIELDS.get(condition), frozenset(_fields(APIS[api].request.message, version))
    if condition == "role" and LEADERLESS in told:
        return False
    return wanted is None or not told.isdisjoint(wanted)


def for_producers(plan: Plan) -> bool:
    """Does each of its rules wait for what only a producer with a transactional id asks? (Produce and FindCoordinator serve others too.)"""
    apis = [texts(rule.when.api) for rule in plan.rule]
    return all(names and all(tells(each, APIS[each].versions.highest, "producer_epoch") for each in names) for names in apis)


def for_consumer_groups(plan: Plan) -> bool:
    """Does each of its rules wait for what only a member of a consumer group has?"""
    return bool(plan.rule) and all(rule.when.progress is not None for rule in plan.rule)


def _fields(message: type[Message], version: int) -> Iterator[str]:
    for field in fields_of(message):
        if field.present(version):
            yield field.name
            if field.wire.kind == "array" and field.wire.element_wire.kind == "struct" and field.name in LISTS_OF_MEMBERS:
                yield from _fields(field.wire.element_wire.struct, version)


def _groups(request: Message) -> Iterator[str]:
    if getattr(request, "key_type", 0) != 0:
        return  # FindCoordinator of a transaction
    for name in GROUPS:
        value = getattr(request, name, None)
        for each in value if isinstance(value, list) else [value]:
            text = getattr(each, "group_id", each)
            if isinstance(text, str) and text:
                yield text


def _transactional_ids(request: Any) -> Iterator[str]:
    keyed = getattr(request, KEY_TYPE, None) == OF_TRANSACTION
    for name in ("key", "coordinator_keys") if keyed else TRANSACTIONS:
        value = getattr(request, name, None)
        for each in value if isinstance(value, list) else [value]:
            text = getattr(each, "transactional_id", each)
            if isinstance(text, str) and text:
                yield text


def _epochs(request: Any) -> Iterator[int]:
    yield from (epoch for epoch in _numbers(getattr(request, "transactions", None) or [request], EPOCHS) if epoch >= 0)


def _topics(request: Message, lookup: Lookup) -> Iterator[str]:
    for name in TOPICS:
        for each in getattr(request, name, None) or ():
            text = each if isinstance(each, str) else getattr(each, "name", None) or getattr(each, "topic", None)
            # Fetch v13+ names topics by their ids alone (KIP-516).
            text = text or lookup.topic(getattr(each, "topic_id", b""))
            if text:
                yield text
    # OffsetFetch v8+ asks for several groups, each with topics of its own (KIP-709).
    for group in _structs(request, "groups"):
        yield from _topics(group, lookup)


def _structs(message: Message, name: str) -> list[Any]:
    # DescribeGroups lists its groups as plain texts under the name that OffsetFetch has for structs.
    return [each for each in getattr(message, name, None) or () if not isinstance(each, str)]


def _texts(messages: list[Any], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for each in messages if (text := getattr(each, name, None))))


def _numbers(messages: list[Any], names: tuple[str, ...]) -> Iterator[int]:
    for each in messages:
        yield from (found for name in names if isinstance(found := getattr(each, name, None), int))


def _instances(group: GroupFacts | None, member_ids: tuple[str, ...]) -> tuple[str, ...]:
    """Of static members whose request is of a version that does not say it."""
    return tuple(instance for instance, member in group.instances.items() if member in member_ids) if group else ()


def _role(group: GroupFacts | None, member_ids: tuple[str, ...], instance_ids: tuple[str, ...]) -> str | None:
    if group is None:
        return None
    known = (*member_ids, *(group.instances[each] for each in instance_ids if each in group.instances))
    return None if not known else "leader" if group.leader in known else "follower"
