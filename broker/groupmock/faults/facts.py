"""The facts about a call that a rule can check: fields of the message by name, and the cluster's knowledge of the groups and topics in
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cache, cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from groupmock_codec import APIS
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.declare import fields_of

from . import record_facts
from .entities import answered, asked, entities_of, present
from .plan import texts

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .entities import Entities, Entity
    from .plan import Plan

KEY_TYPE: Final = "key_type"
KEYS: Final = ("key", "coordinator_keys")
OF_GROUP: Final = 0
OF_TRANSACTION: Final = 1
"""The `key_type` of a FindCoordinator that looks up a transactional id (CoordinatorType)."""
# FindCoordinator has `key`, and `coordinator_keys` from version 4 on (KIP-699). OffsetFetch has `groups` from version 8 on (KIP-709), and
# DeleteGroups `groups_names`.
GROUPS: Final = ("group_id", "groups", "groups_names", "group_ids", *KEYS)
TOPICS: Final = ("topics", "topic_data", "topic_names", "subscribed_topic_names")
# OffsetCommit's generation field is also the member epoch of a consumer group (KIP-848), hence its long name.
GENERATIONS: Final = ("generation_id", "generation_id_or_member_epoch")
MEMBER_EPOCHS: Final = ("member_epoch", "generation_id_or_member_epoch")
INSTANCES: Final = ("group_instance_id", "instance_id")
# AddPartitionsToTxn lists transactions from version 4 on (KIP-890) and has a single one before. FindCoordinator's key is a transactional id
# if its type says so.
TRANSACTIONS: Final = ("transactional_id", "v3_and_below_transactional_id", "transactional_ids", "transactions")
EPOCHS: Final = ("producer_epoch", "v3_and_below_producer_epoch")
LISTS_OF_MEMBERS: Final = ("members", "groups")
LEADERLESS: Final = "server_assignor"
"""A request with this field lets the server assign (KIP-848), so no member of its group leads."""
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
    # Both requests of a share session acknowledge records, and only ShareFetch has a limit of records.
    "acknowledgement": ("share_session_epoch",),
    "record": ("share_session_epoch",),
    "delivery": ("max_records",),
}
"""For each condition, the fields of which a request must have at least one."""
OF_ENTITIES: Final = {"partition": "partition", "resource": "resource", "topic_id": "topic"}
"""Maps a condition to what the request, or at stage reply its answer, must name: a partition, a resource or a topic."""
NONE_IF_UNTOLD: Final = (
    *OF_ENTITIES, "topic", "group", "state", "member_id", "transactional_id", "transaction_state", "committed",
    "acknowledgement", "record", "delivery",
)  # fmt: skip
"""Conditions that have no value if the request lacks their fields, so that `tells` is False. Other fields have a value such as -1 even
in versions without them."""


class KnownGroup(Protocol):
    """A group as the cluster knows it, or as a recording knows it."""

    @property
    def state(self) -> str:
        """Return Kafka's name of the group's state."""

    @property
    def leader_id(self) -> str | None:
        ...

    @property
    def static_members(self) -> Mapping[str, str]:
        """Map the instance ids of static members to member ids."""

    @property
    def progress_of(self) -> Callable[[str], str | None]:
        """Return how far a member of a consumer group is with its target assignment (`core.groups.consumer.states.Progress`)."""


def _no_session(node: int, session_id: int) -> Iterable[tuple[str | None, bytes, int]]:
    return ()


def _no_transaction(transactional_id: str) -> str | None:
    return None


class Lookup(NamedTuple):
    """The functions with which rules ask the cluster. `group` finds a group by id, and `topic` a topic name by its 16-byte id.
    `fetched(node, session id)` yields (topic, topic id, partition) of each partition in a fetch session. `transaction` returns Kafka's
    name of the state of a transactional id."""

    group: Callable[[str], KnownGroup | None]
    topic: Callable[[bytes], str | None]
    fetched: Callable[[int, int], Iterable[tuple[str | None, bytes, int]]] = _no_session
    transaction: Callable[[str], str | None] = _no_transaction


class Caller(NamedTuple):
    """The connection of a call has a listener, which has `tls` or `sasl` or none, and a principal. `authenticated`: the client has
    authenticated itself by SASL."""

    listener: str = ""
    tls: bool = False
    sasl: bool = False
    principal: str = ""
    authenticated: bool = False


NOBODY_KNOWN: Final = Caller()
"""The caller in a recording, which knows neither listeners nor principals."""
EMPTY_CLUSTER: Final = Lookup(lambda group_id: None, lambda topic_id: None)


def _ids(fields: tuple[str, ...], name: str, key_type: int) -> Callable[[Facts], tuple[str, ...]]:
    """Return a function that reads the texts in these fields: a text, a list of texts, or a list of structs with the field `name`.
    FindCoordinator's keys count only if they have that type."""

    def read(facts: Facts) -> tuple[str, ...]:
        request, found = facts.request, []
        for field in fields:
            value: Any = getattr(request, field, None)
            if value and (field not in KEYS or getattr(request, KEY_TYPE, OF_GROUP) == key_type):
                for each in value if isinstance(value, list) else (value,):
                    text = getattr(each, name, each)
                    if isinstance(text, str) and text:
                        found.append(text)
        return tuple(found)

    return read


class Facts:
    """The facts of one call that conditions of rules ask for. `now` is in ns of the run. Facts from messages and cluster, beyond the
    header, are read on first use and only once, because most rules need few. At stage connect there is no request, and rules read none of
    its facts."""

    def __init__(
        self,
        stage: str,
        now: int,
        node: int,
        connection: int,
        api: str = "",
        version: int = -1,
        client_id: str | None = None,
        request: Message | None = None,
        response: Message | None = None,
        lookup: Lookup = EMPTY_CLUSTER,
        caller: Caller = NOBODY_KNOWN,
    ) -> None:
        self.stage = stage
        self.now = now
        self.node = node
        self.connection = connection
        self.api = api
        self.version = version
        self.client_id = client_id
        self.request = request
        self.response = response
        self.lookup = lookup
        self.listener = caller.listener
        self.principal = caller.principal
        self.tls = caller.tls
        self.sasl = caller.sasl
        self.authenticated = caller.authenticated

    def without(self, kind: str, taken: Iterable[Entity]) -> Facts:
        """Copy the facts about a call without the groups, topics or other entities that a rule has affected, because later rules must
        not see them."""
        rest = copy(self)
        rest.entities = self.entities.without(kind, taken)
        return rest

    def settle(self) -> None:
        """Read at once all facts that depend on the cluster's state, because the first of several rules may change that state before the
        next one acts."""
        for name in OF_CLUSTER:
            getattr(self, name)

    groups = cached_property(_ids(GROUPS, "group_id", OF_GROUP))

    @cached_property
    def group(self) -> KnownGroup | None:
        """The first group that the request names, if that group exists."""
        return self.lookup.group(self.groups[0]) if self.groups else None

    @cached_property
    def state(self) -> str | None:
        """The state of the first group that the request names."""
        return None if self.group is None else str(self.group.state)

    @cached_property
    def members(self) -> list[Any]:
        """The parts of the request that may name a member."""
        # LeaveGroup names its members in a list from version 3 on and has none itself (SERVER-44). OffsetFetch names a member beside each
        # group from version 9 on (KIP-848).
        listed = [*(getattr(self.request, "members", None) or ()), *(getattr(self.request, "groups", None) or ())]
        # The groups of DescribeGroups are left out: they are plain texts, in a field that has structs in OffsetFetch.
        return [self.request, *[each for each in listed if not isinstance(each, str)]] if listed else [self.request]

    @cached_property
    def member_ids(self) -> tuple[str, ...]:
        """The member ids in the request or its answer."""
        # A first JoinGroup has no member id. Only its answer has one, with MEMBER_ID_REQUIRED (79, KIP-394) or with success (SERVER-02,
        # SERVER-03).
        return _texts([*self.members, self.response] if self.api == "JoinGroup" else self.members, "member_id")

    @cached_property
    def instance_ids(self) -> tuple[str, ...]:
        """The instance ids that the request names, or else those that the group knows for the named members."""
        group, named = self.group, tuple(text for name in INSTANCES for text in _texts(self.members, name))
        if named or group is None:
            return named
        # Requests of older versions do not contain the instance id of a static member.
        return tuple(instance for instance, member in group.static_members.items() if member in self.member_ids)

    @cached_property
    def generation(self) -> int | None:
        return next((getattr(self.request, name) for name in GENERATIONS if hasattr(self.request, name)), None)

    @cached_property
    def member_epochs(self) -> tuple[int, ...]:
        """The member epochs in a request of a consumer group."""
        return _numbers(self.members, MEMBER_EPOCHS)

    @cached_property
    def progress(self) -> str | None:
        """The progress of the first member that the request names towards its target assignment."""
        return self.group.progress_of(self.member_ids[0]) if self.group and self.member_ids else None

    @cached_property
    def role(self) -> str | None:
        """Return "leader" or "follower", the role of the request's members in their group, or None if it has none of them."""
        group = self.group
        if group is None:
            return None
        known, instances = self.member_ids, group.static_members
        if instances:
            known = (*known, *[instances[each] for each in self.instance_ids if each in instances])
        return None if not known else "leader" if group.leader_id in known else "follower"

    @cached_property
    def topics(self) -> tuple[str, ...]:
        return tuple(_topics(self.request, self.lookup))

    @cached_property
    def entities(self) -> Entities:
        """The groups, topics, partitions, resources and members that the request names, and at stage reply also those of its answer."""
        return entities_of(self.api, self.version, self.node, self.request, self.response, self.lookup)

    transactional_ids = cached_property(_ids((*TRANSACTIONS, *KEYS), "transactional_id", OF_TRANSACTION))

    @cached_property
    def producer_epochs(self) -> tuple[int, ...]:
        named = getattr(self.request, "transactions", None) or [self.request]
        return tuple([epoch for epoch in _numbers(named, EPOCHS) if epoch >= 0])

    @cached_property
    def transaction_state(self) -> str | None:
        """The state of the first transactional id that the request names."""
        return self.lookup.transaction(self.transactional_ids[0]) if self.transactional_ids else None

    @cached_property
    def committed(self) -> bool | None:
        """True if an EndTxn commits, False if it aborts, None for other requests."""
        return getattr(self.request, "committed", None)


    @cached_property
    def acknowledgements(self) -> tuple[str, ...]:
        """The types of acknowledgements in a request of a share session."""
        return record_facts.acknowledgements(self.request)

    @cached_property
    def records(self) -> list[tuple[int, int]]:
        """The offsets that a request of a share session acknowledges, or that its answer delivers."""
        return record_facts.records(self.request, self.response)

    @cached_property
    def deliveries(self) -> tuple[int, ...]:
        """The delivery counts in the answer to a ShareFetch."""
        return record_facts.deliveries(self.response)


OF_CLUSTER: Final = ("state", "instance_ids", "role", "progress", "topics", "transaction_state")
"""Facts that depend on the state of the cluster at that moment."""


@cache
def tells(api: str, version: int, condition: str, stage: str = "request") -> bool:
    """Return whether a request of this version, or at stage reply its answer, has the value that the condition checks."""
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
    """Return whether each rule of the fault plan applies only to requests of producers with a transactional id. Produce and
    FindCoordinator do not count, because other clients send them too."""
    apis = [texts(rule.when.api) for rule in plan.rule]
    return all(names and all(tells(each, APIS[each].versions.highest, "producer_epoch") for each in names) for names in apis)


def for_other_groups(plan: Plan) -> bool:
    """Return whether each rule of the fault plan applies only to requests of share sessions or to heartbeats of streams groups."""

    def of_others(api: str) -> bool:
        return api == APIS[STREAMS_GROUP_HEARTBEAT].name or tells(api, APIS[api].versions.highest, "acknowledgement")

    apis = [texts(rule.when.api) for rule in plan.rule]
    return all(names and all(map(of_others, names)) for names in apis)


def for_consumer_groups(plan: Plan) -> bool:
    """Return whether each rule of the fault plan applies only to members of consumer groups."""
    return bool(plan.rule) and all(rule.when.progress is not None for rule in plan.rule) and not for_other_groups(plan)


def _fields(message: type[Message], version: int) -> Iterator[str]:
    for field in fields_of(message):
        if field.present(version):
            yield field.name
            if field.wire.kind == "array" and field.wire.element_wire.kind == "struct" and field.name in LISTS_OF_MEMBERS:
                yield from _fields(field.wire.element_wire.struct, version)


def _topics(request: Any, lookup: Lookup) -> Iterator[str]:
    for name in TOPICS:
        for each in getattr(request, name, None) or ():
            text = each if isinstance(each, str) else getattr(each, "name", None) or getattr(each, "topic", None)
            # Fetch names topics only by their ids from version 13 on (KIP-516).
            text = text or lookup.topic(getattr(each, "topic_id", b""))
            if text:
                yield text
    # OffsetFetch asks for several groups from version 8 on, each with its topics (KIP-709).
    for group in getattr(request, "groups", None) or ():
        yield from _topics(group, lookup)


def _texts(messages: list[Any], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(getattr, messages, repeat(name), repeat(None)))))


def _numbers(messages: list[Any], names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple([value for each in messages for name in names if isinstance(value := getattr(each, name, None), int)])
