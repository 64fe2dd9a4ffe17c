"""Finds the entities that one request names side by side: groups, topics, partitions, resources and members. They are found by the codec's
declarations, without a table of APIs.

In every API of Kafka, an answer with a result for each entity has one list of structs that leads to error codes, and its elements may have
another such list: `groups` -> `topics` -> `partitions`. Those lists are the *levels* of the answer. A request names the same entities in
the same order of levels: its first list has the outermost level, and the first list of each element the next one. The fields of an element
tell its kind: `partition_index` makes it a partition, `group_id` a group, `resource_name` a resource. An element of a request that is a
plain text or number belongs to the answer's level.

Some entities are only in an answer: Metadata requests name topics, and the answers have their partitions. One request names fewer entities
than it means: a fetch in an incremental session (KIP-227) names the changed partitions and means all partitions of its session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from groupmock_codec import APIS
from groupmock_codec.declare import ZERO_UUID, Field, fields_of

from .plan import id_text

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .facts import Lookup

ERRORS: Final = ("error_code", "partition_error_code")
KINDS: Final[dict[str, tuple[str, ...]]] = {
    "resource": ("resource_name", "log_dir", "user", "feature"),
    "group": ("group_id", "key"),
    "transaction": ("transactional_id",),
    "partition": ("partition_index", "partition", "index", "partition_id"),
    "member": ("member_id",),
    "topic": ("name", "topic", "topic_name", "topic_id"),
}
"""Maps each kind of entity (a group, a topic, ...) to the fields of which an element of a message must have one to be of that kind. The
first kind that fits counts, because a group of OffsetFetch also has a member id."""
TOPIC_NAMES: Final = ("name", "topic", "topic_name")
RESOURCES: Final[dict[int | str, str]] = {2: "topic", 4: "broker", 8: "broker_logger", 16: "client_metrics", 32: "group"}
"""Kafka's numbers of config resources (ConfigResource.Type)."""
OUTERMOST: Final = ("group", "transaction")
"""Groups and transactions contain the other entities of a message, and only newer request versions name several of them. Each has an
element in the answer in any case."""
IN_SESSIONS: Final = "session_epoch"
"""A Fetch request with this field may be about more partitions than it names."""
IDS_SINCE: Final = 13
"""The version of Fetch from which on topics have ids instead of names (KIP-516)."""


class Entity(NamedTuple):
    """A group, topic, partition, resource, member or transaction that a message names, with those that contain it. `topic_id` is set as
    well if the cluster knows it."""

    group: str | None = None
    topic: str | None = None
    topic_id: bytes | None = None
    partition: int | None = None
    resource: tuple[int | str, str] | None = None
    """The kind and name of a resource. The kind of a config is its number (see RESOURCES), other kinds are the field's name (log_dir,
    user, feature)."""
    member: tuple[str | None, str | None] | None = None
    """The member id and the instance id."""
    transaction: str | None = None

    def key(self, kind: str) -> object:
        """Return the value that distinguishes a group, topic or other entity from others of its kind in the same list. A topic's name
        comes first, because an answer may have also the id."""
        return self.topic or self.topic_id if kind == "topic" else getattr(self, kind)

    def at(self, kind: str) -> tuple[object, ...]:
        """Return the values that distinguish a group, topic or other entity, with its containers, from all others of its kind."""
        return tuple(self.key(each) for each in (*ABOVE.get(kind, ()), kind))

    def shown(self, kind: str) -> str:
        """Return a readable name of a group, topic or other entity, such as `orders/1` or `topic:orders`, or its id."""
        if kind == "resource" and self.resource is not None:
            return f"{RESOURCES.get(self.resource[0], self.resource[0])}:{self.resource[1]}"
        if kind == "member" and self.member is not None:
            return self.member[1] or self.member[0] or ""
        topic = self.topic or (id_text(self.topic_id) if self.topic_id else "")
        return topic if kind == "topic" else f"{topic}/{self.partition}" if kind == "partition" else str(self.key(kind))


ABOVE: Final = {"topic": ("transaction", "group"), "partition": ("transaction", "group", "topic")}
NOBODY: Final = Entity()


class Level(NamedTuple):
    """A list of groups, topics, partitions or the like in a message. `error` is the field with an element's own error code, if there is
    one. `struct` is the class of the elements, or None for plain texts or numbers. `fields` are those of an element in this version.
    With `stays` an answer's element stays even if its own list is empty, as a group without offsets does; a topic that only contains
    partitions does not."""

    kind: str
    field: str
    error: str | None = None
    struct: type[Message] | None = None
    fields: frozenset[str] = frozenset()
    stays: bool = False


@cache
def answered(api: str, version: int) -> tuple[Level, ...]:
    """Return the nested lists of an answer that has a result for each group, topic, partition or the like, outermost first. The last
    level has error codes."""
    return _answered(APIS[api].response.message, version)


@cache
def asked(api: str, version: int) -> tuple[Level, ...]:
    """Return the nested lists of a request that correspond to those of its answer, as far as the request has them."""
    found: list[Level] = []
    message: type[Message] | None = APIS[api].request.message
    for level in answered(api, version):
        field = _first_list(message, version) if message is not None else None
        if field is None:
            break
        element = field.wire.element_wire
        message = element.struct if element.kind == "struct" else None
        if message is not None and _kind(message, version) != level.kind:
            break
        found.append(Level(level.kind, field.name, struct=message))
    return tuple(found)


def _answered(message: type[Message], version: int) -> tuple[Level, ...]:
    for field in fields_of(message):
        if field.present(version) and field.wire.kind == "array" and field.wire.element_wire.kind == "struct":
            struct = field.wire.element_wire.struct
            below, error = _answered(struct, version), error_of(struct, version)
            kind = _kind(struct, version)
            if kind is not None and (error is not None or below):
                stays = error is not None or kind in OUTERMOST
                return (Level(kind, field.name, error, struct, present(struct, version), stays), *below)
    return ()


@cache
def error_of(message: type[Message], version: int) -> str | None:
    """Return the name of the field with the error code of the struct itself, or None."""
    return next((field.name for field in fields_of(message) if field.name in ERRORS and field.present(version)), None)


@cache
def _kind(message: type[Message], version: int) -> str | None:
    fields = present(message, version)
    return next((kind for kind, names in KINDS.items() if not fields.isdisjoint(names)), None)


@cache
def present(message: type[Message], version: int) -> frozenset[str]:
    """Return the fields of a struct that the version has."""
    return frozenset(field.name for field in fields_of(message) if field.present(version))


def _first_list(message: type[Message], version: int) -> Field | None:
    return next((field for field in fields_of(message) if field.wire.kind == "array" and field.present(version)), None)


def named(above: Entity, kind: str, element: Any, lookup: Lookup) -> Entity:
    """Return the group, topic or other entity that an element of a list names, as contained in `above`."""
    if kind == "topic":
        names = [element] if isinstance(element, str) else [getattr(element, each, None) for each in TOPIC_NAMES]
        name = next((each for each in names if each), None)
        topic_id = getattr(element, "topic_id", ZERO_UUID)
        known = topic_id if topic_id != ZERO_UUID else None
        return above._replace(topic=name or (lookup.topic(known) if known else None), topic_id=known)
    if kind == "resource":
        return above._replace(resource=_resource(element))
    if kind == "member":
        return above._replace(member=(element.member_id or None, getattr(element, "group_instance_id", None)))
    value: Any = element
    if not isinstance(element, str | int):
        value = next(getattr(element, name) for name in KINDS[kind] if hasattr(element, name))
    return above._replace(**{kind: value})


def _resource(element: Any) -> tuple[int | str, str]:
    if hasattr(element, "resource_name"):
        return element.resource_type, element.resource_name
    return next((name, getattr(element, name)) for name in KINDS["resource"] if hasattr(element, name))


def within(message: Any, levels: tuple[Level, ...], lookup: Lookup, above: Entity = NOBODY) -> Iterator[Entity]:
    """Yield the innermost entities that a message names, such as the partitions of a Fetch."""
    elements = getattr(message, levels[0].field) or () if levels else ()
    if not elements and above is not NOBODY:
        yield above
    for each in elements:
        yield from within(each, levels[1:], lookup, named(above, levels[0].kind, each, lookup))


class Entities:
    """The groups, topics, partitions and other entities that one call names, read by `read` on first use."""

    def __init__(self, read: Callable[[], Iterable[Entity]]) -> None:
        self._read = read

    @cached_property
    def all(self) -> tuple[Entity, ...]:
        """Return all groups, topics and other entities that the call names, each once."""
        return tuple(dict.fromkeys(self._read()))

    def without(self, kind: str, taken: Iterable[Entity]) -> Entities:
        """Return the groups, topics and other entities of the call without the `taken` ones and those inside them."""
        places = {each.at(kind) for each in taken}
        return Entities(lambda: [each for each in self.all if each.at(kind) not in places])


def entities_of(api: str, version: int, node: int, request: Any, response: Any, lookup: Lookup) -> Entities:
    """Return the groups, topics and other entities that a call names in its request, its session, and its answer if that exists."""
    if not answered(api, version):
        return Entities(lambda: ())

    def read() -> Iterator[Entity]:
        # The answer is read first, because it may know more about what the request names, such as a topic's id.
        seen = set()
        if response is not None:
            for entity in within(response, answered(api, version), lookup):
                seen.add(_place(entity))
                yield entity
        for entity in _asked_for(api, version, node, request, lookup):
            if _place(entity) not in seen:
                yield entity

    return Entities(read)


def _asked_for(api: str, version: int, node: int, request: Any, lookup: Lookup) -> Iterator[Entity]:
    yield from within(request, asked(api, version), lookup)
    if hasattr(request, IN_SESSIONS) and request.session_id:
        forgotten = {(topic.topic or topic.topic_id, each) for topic in request.forgotten_topics_data for each in topic.partitions}
        for topic, topic_id, partition in lookup.fetched(node, request.session_id):
            by_id = version >= IDS_SINCE
            if (topic_id if by_id else topic, partition) not in forgotten:
                yield Entity(topic=topic, topic_id=topic_id if by_id else None, partition=partition)


def _place(entity: Entity) -> tuple[object, ...]:
    return (entity.topic or entity.topic_id, *entity._replace(topic=None, topic_id=None))


def without(message: Any, levels: tuple[Level, ...], kind: str, taken: Iterable[Entity], lookup: Lookup) -> Any | None:
    """Return a copy of a request or an answer without the `taken` groups, topics or other entities, or None if nothing is left."""
    return _without(message, levels, kind, {each.at(kind) for each in taken}, lookup, NOBODY)


def _without(message: Any, levels: tuple[Level, ...], kind: str, places: set[Any], lookup: Lookup, above: Entity) -> Any | None:
    level, left, changed = levels[0], [], False
    for each in getattr(message, level.field) or ():
        entity = named(above, level.kind, each, lookup)
        if level.kind == kind:
            kept = None if entity.at(kind) in places else each
        else:
            kept = _without(each, levels[1:], kind, places, lookup, entity) if len(levels) > 1 else each
            if kept is None and level.stays:
                kept = msgspec.structs.replace(each, **{levels[1].field: []})
        changed |= kept is not each
        if kept is not None:
            left.append(kept)
    if not changed:
        return message
    return msgspec.structs.replace(message, **{level.field: left}) if left else None


def with_outermost(answer: Any, levels: tuple[Level, ...], taken: Iterable[Entity], lookup: Lookup) -> Any:
    """Append the outermost entities (groups or transactions) of `taken` to an answer that lacks them."""
    level = levels[0]
    elements = list(getattr(answer, level.field) or ())
    known = {named(NOBODY, level.kind, each, lookup).key(level.kind) for each in elements}
    for entity in taken:
        if entity.key(level.kind) not in known:
            known.add(entity.key(level.kind))
            elements.append(_made(level, entity))
    return msgspec.structs.replace(answer, **{level.field: elements})


Say = Callable[[Any, Level], Any]
"""A function that returns an answer's element with a changed result."""


class Answering(NamedTuple):
    """A change of the results of some groups, topics or other entities in an answer. `say` returns the new element for each given entity
    of that kind, or for the entities in it if it has no error code of its own. With `add`, entities that the answer lacks are appended."""

    kind: str
    lookup: Lookup
    say: Say
    add: bool

    def changed(self, message: Any, levels: tuple[Level, ...], taken: Iterable[Entity]) -> Any:
        """Return a changed copy of the answer, which shares the unchanged parts."""
        return self._changed(message, levels, taken, NOBODY, reached=False)

    def _changed(self, message: Any, levels: tuple[Level, ...], taken: Iterable[Entity], above: Entity, reached: bool) -> Any:
        level = levels[0]
        reached = reached or level.kind == self.kind
        by_key: dict[object, list[Entity]] = {}
        for each in taken:
            by_key.setdefault(each.key(level.kind), []).append(each)
        elements = []
        for element in getattr(message, level.field) or ():
            entity = named(above, level.kind, element, self.lookup)
            own = by_key.pop(entity.key(level.kind), None)
            elements.append(element if own is None else self._said(element, levels, own, entity, reached))
        if self.add:
            elements += [self._said(_made(level, own[0]), levels, own, own[0], reached) for own in by_key.values()]
        return msgspec.structs.replace(message, **{level.field: elements})

    def _said(self, element: Any, levels: tuple[Level, ...], own: list[Entity], entity: Entity, reached: bool) -> Any:
        if reached and levels[0].error is not None:
            return self.say(element, levels[0])
        return self._changed(element, levels[1:], own, entity, reached)


def _made(level: Level, entity: Entity) -> Any:
    """Return an element of an answer that names this group, topic or other entity and has defaults in all other fields."""
    assert level.struct is not None
    made: Any = level.struct()
    if level.kind == "topic":
        said: dict[str, Any] = dict.fromkeys(TOPIC_NAMES, entity.topic) | {"topic_id": entity.topic_id}
    elif level.kind == "resource":
        number, name = entity.resource or ("", "")
        said = {"resource_type": number, "resource_name": name} if "resource_type" in level.fields else {str(number): name}
    elif level.kind == "member":
        said = dict(zip(("member_id", "group_instance_id"), entity.member or (), strict=False))
    else:
        said = dict.fromkeys(KINDS[level.kind], getattr(entity, level.kind))
    for name, value in said.items():
        if value is not None and name in level.fields:
            setattr(made, name, value)
    return made
