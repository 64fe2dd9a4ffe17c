"""Generate requests that multiply work from the codec's declarations: each array as long as possible, each number as large as possible.

This module knows only so much of a field's meaning that a request passes the first checks (`_WORDS`, `_NUMBERS`), and nothing about which
field is expensive. So new APIs, versions and fields are covered without a change here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec import APIS
from groupmock_codec.declare import Field, Message, Wire, fields_of
from groupmock_codec.group_states import STABLE

from .state import BIG, MANY, WIDE

if TYPE_CHECKING:
    from .state import BigState

EMPTY, REPEATED, EXISTING, NEW, NUMERALS = "empty", "one repeated", "existing", "new", "numerals"
FILLS: Final = (EMPTY, REPEATED, EXISTING, NEW)
DISTINCT: Final = (EXISTING, NEW, NUMERALS)
EXTREMES: Final = (2**31 - 1, -1)
SMALLEST: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
LONG: Final = 32_767
"""The greatest length of a string in a generated request."""
LONG_WORDS: Final = {"letters": "x" * LONG, "digits": "9" * LONG, "entries": ",".join(f"{number:x}" for number in range(LONG))[:LONG]}
KINDS: Final = (2, 3, 4)
"""Values for int8 fields, which select the kind of a resource."""

Names = Callable[["BigState"], list[str]]


def _topics(state: BigState) -> list[str]:
    return state.topics


def _groups(state: BigState) -> list[str]:
    return state.groups


def _configs(state: BigState) -> list[str]:
    return ["cleanup.policy", "retention.ms", "segment.bytes", "leader.replication.throttled.replicas"]


_WORDS: Final[dict[str, Names]] = {
    "name": _topics,
    "topic": _topics,
    "topic_name": _topics,
    "topic_names": _topics,
    "resource_name": _topics,
    "group_id": _groups,
    "groups": _groups,
    "groups_names": _groups,
    "group_ids": _groups,
    "coordinator_keys": _groups,
    "key": _groups,
    "member_id": lambda state: state.members,
    "group_instance_id": lambda state: state.instances,
    "configuration_keys": _configs,
    "subscribed_topic_names": _topics,
    "transactional_ids": _groups,
    "transactional_id": _groups,
    "state_filters": lambda state: ["Ongoing"],
    "states_filter": lambda state: [STABLE],
    "types_filter": lambda state: ["classic"],
    "client_software_name": lambda state: ["rig"],
    "client_software_version": lambda state: ["1"],
}
_IN: Final[dict[str, Names]] = {"Config": _configs, "Protocol": lambda state: ["range"]}
_NUMBERS: Final[dict[str, int]] = {
    "timeout_ms": 1000,
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "partition_max_bytes": 1000,
    "max_bytes": 100_000,
    "num_partitions": 1,
    "replication_factor": 1,
    "count": 2,
    "resource_type": 2,
    "transaction_timeout_ms": 1000,
    "response_partition_limit": 2**31 - 1,
    "broker_ids": 1,
    "timestamp": -1,
    "session_epoch": -1,
    "committed_offset": 7,
}
_PARTITIONS: Final = ("partition", "partition_index", "partition_indexes", "partitions", "index")


class Case(NamedTuple):
    """One request that multiplies work. `what` describes the multiplied field, its count and its content."""

    key: int
    version: int
    what: str
    message: Message

    def __str__(self) -> str:
        return f"{APIS[self.key].name} v{self.version}: {self.what}"


class Plan(NamedTuple):
    """Describes how to fill a message of a request: `counts` of arrays, `numbers` and `words` by path, and `fill`, the content of
    arrays."""

    counts: Mapping[str, int]
    fill: str = EXISTING
    numbers: Mapping[str, int] = MappingProxyType({})
    words: Mapping[str, str] = MappingProxyType({})
    nulls: frozenset[str] = frozenset()


def cases(state: BigState, key: int, version: int, most: int) -> Iterator[Case]:
    """Yield every request of an API and version that multiplies work. `most` limits the elements of all its arrays together."""
    plans = _plans(APIS[key].request.message, version, most)
    seen = set()
    for what, plan in plans:
        message = _Filling(state, version, plan).message(APIS[key].request.message, "", 0)
        told = repr(message) if len(plan.counts) == 0 else None
        if told is None or told not in seen:
            seen.add(told)
            yield Case(key, version, what, message)


def _plans(kind: type[Message], version: int, elements: int) -> Iterator[tuple[str, Plan]]:
    arrays, numbers, words, nullable, kinds = _paths(kind, version)
    yield "as it is", Plan({})
    for path in nullable:
        yield f"{path} null", Plan({}, nulls=frozenset([path]))
    for path in words:
        for told in ("letters", "digits"):
            yield f"{path} of {LONG} {told}", Plan({}, words={path: LONG_WORDS[told]})
    for path in numbers:
        for value in EXTREMES:
            yield f"{path}={value}", Plan({}, numbers={path: value})
    for path in arrays:
        inside = sum(each.startswith(f"{path}.") for each in arrays)
        most = elements // (1 + inside)
        yield from _of_array(path, [each for each in arrays if path.startswith(f"{each}.")], most)
        for number in numbers:
            if number.startswith(f"{path}.") and number.rpartition(".")[2] not in _PARTITIONS:
                for count, fill in ((2, NEW), (most, EXISTING)):
                    yield f"{path} x {count} {fill}, {number}={EXTREMES[0]}", Plan({path: count}, fill, {number: EXTREMES[0]})
        yield from _of_kinds(path, words, kinds, most)
        few = min(most, 100)
        for word in words:
            if word.startswith(f"{path}."):
                yield f"{path} x {few}, {word} of {LONG} letters", Plan({path: few}, EXISTING, {}, {word: LONG_WORDS["letters"]})


def _of_array(path: str, parents: list[str], most: int) -> Iterator[tuple[str, Plan]]:
    """Yield requests with the array at its limit and shorter, because a request just below a limit costs most, and this module does not
    know the limits."""
    for fill in FILLS:
        yield f"{path} x {most} {fill}", Plan({path: most}, fill)
    for fill in (EXISTING, NEW):
        for fewer in (most // 6, most // 30):
            yield f"{path} x {fewer} {fill}", Plan({path: fewer}, fill)
        for parent in parents:
            side = max(int(most**0.5), 2)
            yield f"{parent} x {side}, {path} x {side} {fill}", Plan({parent: side, path: side}, fill)


def _of_kinds(path: str, words: list[str], kinds: list[str], most: int) -> Iterator[tuple[str, Plan]]:
    """Yield requests whose cost depends on the kind of resource: names that are numbers, names in many spellings, lists as values."""
    few = min(most, 150)
    for number in kinds:
        if not number.startswith(f"{path}."):
            continue
        for value in KINDS:
            yield f"{path} x {most} existing, {number}={value}", Plan({path: most}, EXISTING, {number: value})
            yield f"{path} x {few} numerals, {number}={value}", Plan({path: few}, NUMERALS, {number: value})
            for word in words:
                if word.startswith(f"{path}."):
                    yield f"{number}={value}, {word} of {LONG} entries", Plan({}, EXISTING, {number: value}, {word: LONG_WORDS["entries"]})


def _paths(kind: type[Message], version: int, before: str = "") -> tuple[list[str], ...]:
    """Return the paths of a message's fields in that version: arrays, numbers, strings, nullable fields, and int8 fields in elements of
    arrays."""
    arrays: list[str] = []
    numbers: list[str] = []
    words: list[str] = []
    nullable: list[str] = []
    kinds: list[str] = []
    for field in fields_of(kind):
        if not field.present(version):
            continue
        path, inner = f"{before}{field.name}", field.wire
        if field.nullable(version):
            nullable.append(path)
        if inner.kind == "array":
            arrays.append(path)
            inner = inner.element_wire
        if inner.kind == "struct":
            for known, more in zip((arrays, numbers, words, nullable, kinds), _paths(inner.struct, version, f"{path}."), strict=True):
                known.extend(more)
        elif inner.kind in SMALLEST and field.wire.kind != "array":
            (kinds if inner.kind == "int8" and before else numbers).append(path)
        elif inner.kind == "string" and field.wire.kind != "array":
            words.append(path)
    return arrays, numbers, words, nullable, kinds


class _Filling:
    """Builds one message as a Plan describes it. `place` is the index of the element in the arrays around it."""

    def __init__(self, state: BigState, version: int, plan: Plan) -> None:
        self._state, self._version, self._plan = state, version, plan

    def message(self, kind: type[Message], before: str, place: int) -> Message:
        made = kind()
        for field in fields_of(kind):
            if field.present(self._version):
                setattr(made, field.name, self._value(kind, field, f"{before}{field.name}", place))
        return made

    def _value(self, kind: type[Message], field: Field, path: str, place: int) -> Any:
        if path in self._plan.nulls:
            return None
        wire = field.wire
        if wire.kind == "array":
            count = self._plan.counts.get(path, 1)
            return [self._one(kind, field, wire.element_wire, path, place * count + index) for index in range(count)]
        return self._one(kind, field, wire, path, place)

    def _one(self, kind: type[Message], field: Field, wire: Wire, path: str, place: int) -> Any:
        if wire.kind == "struct":
            if field.wire.kind == "struct":  # A field of a request that is a struct keeps its default, as in most requests.
                return field.default
            return self.message(wire.struct, f"{path}.", place)
        within = any(path == each or path.startswith(f"{each}.") for each in self._plan.counts)
        fill = self._plan.fill if within else EXISTING
        at = place if within and fill in DISTINCT else 0
        if wire.kind == "string":
            return self._word(kind, field, path, fill, at)
        if wire.kind in SMALLEST:
            return self._number(field, wire, path, fill, at)
        if wire.kind == "uuid":
            ids = self._state.ids
            return bytes(16) if fill == EMPTY else at.to_bytes(16, "big") if fill == NEW else ids[at % len(ids)]
        if wire.kind == "bytes":
            return b"\0\1\0\0\0\1\0\6t00000\0\0\0\0" if fill != EMPTY else b""
        return field.default if field.wire.kind != "array" else False

    def _word(self, kind: type[Message], field: Field, path: str, fill: str, place: int) -> Any:
        if path in self._plan.words:
            return self._plan.words[path]
        if fill == EMPTY:
            return ""
        if fill == NEW:
            return f"new_{place:06}"
        if fill == NUMERALS:
            return f"{1:0{place + 1}}"
        names = self._names(kind, field, path)
        return names[place % len(names)] if names else field.default

    def _names(self, kind: type[Message], field: Field, path: str) -> list[str]:
        if path == "group_id":  # The request's own fields name the big group and its first member.
            return [BIG if "member_id" in kind.__struct_fields__ else MANY]
        for part, names in _IN.items():
            if part in kind.__name__ and field.name == "name":
                return names(self._state)
        if field.name in ("name", "topic") and any(each in path and self._plan.counts.get(each, 1) > 1 for each in self._inner(path)):
            return [WIDE]
        found = _WORDS.get(field.name)
        return [] if found is None else found(self._state)

    def _inner(self, path: str) -> list[str]:
        """Return the multiplied arrays that stand in the same element as this field. Then the field names the wide topic."""
        beside = path.rpartition(".")[0]
        return [each for each in self._plan.counts if each.startswith(f"{beside}.") and beside]

    def _number(self, field: Field, wire: Wire, path: str, fill: str, place: int) -> int:
        most: int = 2 ** SMALLEST[wire.kind] - 1
        if path in self._plan.numbers:
            return max(min(self._plan.numbers[path], most), -most - 1)
        if field.name in _PARTITIONS:
            return min(place, most) if fill in DISTINCT else 0
        if field.name in ("generation_id", "generation_id_or_member_epoch"):
            return self._state.generation
        if field.name == "assignments" and wire.kind in SMALLEST:
            return 1
        return min(_NUMBERS.get(field.name, field.default if isinstance(field.default, int) else 0), most)
