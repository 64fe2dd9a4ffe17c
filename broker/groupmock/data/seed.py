"""Seed data describes the state that a cluster has before its clients come. It is JSON Lines, one thing to a line, applied in the order of
the file.

    {"topic": "orders", "partitions": 3, "configs": {"cleanup.policy": "compact"}}      a topic
    {"topic": "orders", "key": "k1", "value": {"amount": 3}}                            a record (lines)
    {"topic": "orders", "partition": 0, "next_offset": 100}                             where its log goes on
    {"group": "kitchen", "topic": "orders", "partition": 0, "offset": 1}                a committed offset
    {"node": 1, "configs": {"message.max.bytes": 2000}}                                 configs of a node, of all where it is 0

The fields of a line decide its kind: `group`, `node`, `next_offset`, then any of `key`, `value` and `headers`; anything else is a topic. A
record creates its missing topic, as an auto-created topic, if auto.create.topics.enable is on.

All lines are read and checked before any is applied. Each then becomes a command, which the cluster may still refuse (an unknown config, a
record that is too large): the error says which line it was and how many were applied before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from ..core.events import Command
from ..core.steering import CannotSteer
from .lines import BadLine, Numbered, RecordLine, lines_of, new_record, numbered, read_line
from .writing import Reader, write

if TYPE_CHECKING:
    from .target import Target

MOST_BYTES: Final = 256 * 1024 * 1024
RECORD_FIELDS: Final = ("key", "value", "headers")
AT_ONCE: Final = 1_000
"""The number of records that are written by one command."""
SLICE: Final = 200
Parsed = tuple[Numbered, Any]
"""A line together with the struct that was made from it."""
Count = Annotated[int, Meta(ge=1)]
Plain = str | int | float | bool
Source = str | Path | Iterable[Mapping[str, Any]]
"""The name of a file, or the lines as Python data, which may have bytes as key or value."""


class BadSeedData(ValueError):
    """Raised if a part of the seed data is wrong. The text names the file, the line, the field and the remedy."""


class TopicLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line of seed data that creates a topic."""

    topic: Annotated[str, Meta(description="its name", min_length=1)]
    partitions: Annotated[Count | None, Meta(description="how many; null: num.partitions")] = None
    replication_factor: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="replicas of each; null: default.replication.factor")
    ] = None
    configs: Annotated[dict[str, Plain], Meta(description="topic configs by Kafka's names")] = {}
    topic_id: Annotated[str | None, Meta(description="its id as Kafka's tools write it; null: a fresh one")] = None


class OffsetLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line of seed data that sets the offset of a partition's next record. A log without records begins at `start_offset`, or at that
    offset."""

    topic: Annotated[str, Meta(description="topic name", min_length=1)]
    partition: Annotated[int, Meta(description="partition of the topic", ge=0)]
    next_offset: Annotated[int, Meta(description="of the next record", ge=0, le=2**62)]
    start_offset: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="where a log without records begins; null: at next_offset")
    ] = None


class CommitLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line of seed data with an offset that a group has committed."""

    group: Annotated[str, Meta(description="group id", min_length=1)]
    topic: Annotated[str, Meta(description="topic name", min_length=1)]
    partition: Annotated[int, Meta(description="partition of the topic", ge=0)]
    offset: Annotated[int, Meta(description="of the next record to be read", ge=0, le=2**63 - 1)]
    metadata: Annotated[str, Meta(description="any text")] = ""


class NodeLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line of seed data with broker configs that are set at run time."""

    node: Annotated[int, Meta(description="node id; 0: all of them", ge=0)]
    configs: Annotated[dict[str, Plain], Meta(description="broker configs by Kafka's names", min_length=1)]


class Seeded(msgspec.Struct):
    """The numbers of topics, records, offsets and configs that seed data has made."""

    topics: int = 0
    records: int = 0
    commits: int = 0
    nodes: int = 0

    def __str__(self) -> str:
        return f"{self.topics} topics, {self.records} records, {self.commits} commits"


KINDS: Final = (TopicLine, OffsetLine, RecordLine, CommitLine, NodeLine)
TOPIC_FIELDS: Final = frozenset(TopicLine.__struct_fields__)
SeedLine: Final = msgspec.defstruct(
    "SeedLine",
    [(name, kind | None, None) for name, kind in {each.name: each.type for line in KINDS for each in msgspec.structs.fields(line)}.items()],
    kw_only=True,
    forbid_unknown_fields=True,
    namespace={"__doc__": "A line of seed data: a topic, a record, a committed offset or configs of a node. Which, its fields say."},
)
"""A struct with all fields that a line can have, for documents and errors."""


class _Kind(msgspec.Struct, gc=False):
    """The fields that show of which kind a line is."""

    topic: Any = msgspec.UNSET
    group: Any = msgspec.UNSET
    node: Any = msgspec.UNSET
    key: Any = msgspec.UNSET
    value: Any = msgspec.UNSET
    headers: Any = msgspec.UNSET
    next_offset: Any = msgspec.UNSET

    def struct(self) -> type[msgspec.Struct]:
        if self.group is not msgspec.UNSET:
            return CommitLine
        if self.node is not msgspec.UNSET:
            return NodeLine
        if self.next_offset is not msgspec.UNSET:
            return OffsetLine
        return RecordLine if any(getattr(self, name) is not msgspec.UNSET for name in RECORD_FIELDS) else TopicLine


class SeedData:
    """Lines of seed data, which are read first and applied then. `origin` is their name in errors; `done` counts what was applied so
    far."""

    def __init__(self, origin: str) -> None:
        self.done = Seeded()
        self._origin = origin
        self._lines: list[Parsed] = []

    def read(self, data: bytes) -> Iterator[None]:
        """Read the lines, with a yield after each SLICE lines. Raises BadSeedData."""
        try:
            for line in numbered(data):
                self._lines.append((line, _read(line)))
                if not len(self._lines) % SLICE:
                    yield
        except BadLine as bad:
            raise BadSeedData(f"{self._origin}: {bad}") from None

    def slices(self, target: Target) -> Iterator[None]:
        """Apply the lines, with a yield after each step. Raises BadSeedData."""
        self.done = Seeded()
        try:
            yield from _check(target, self._lines)
            for step in _steps(self._lines):
                _do(target, step, self.done)
                yield
        except BadLine as bad:
            before = f" ({self.done} were done before it)" if self.done != Seeded() else ""
            raise BadSeedData(f"{self._origin}: {bad}{before}") from None

    def apply(self, target: Target) -> Seeded:
        """Apply all lines at once, without a pause for other work."""
        for _ in self.slices(target):
            pass
        return self.done


def _read(line: Numbered) -> Any:
    """Parse a line as the kind that its fields show. The error of a line of no kind lists all fields that a line can have."""
    kind = read_line(line, _Kind).struct()
    if kind is TopicLine and not msgspec.json.decode(line.text, type=dict[str, msgspec.Raw]).keys() <= TOPIC_FIELDS:
        read_line(line, SeedLine)
    found = read_line(line, kind)
    if isinstance(found, RecordLine):
        # The record is built already here, so that an error in it does not come after half of the file was applied.
        new_record(line.number, found, None, None, 0)
    return found


def read_seed_data(given: Source) -> SeedData:
    """Read seed data from a file or from Python data. Raises BadSeedData."""
    if not isinstance(given, str | Path):
        if isinstance(given, Mapping) or not isinstance(given, Iterable):
            raise BadSeedData(f"seed_data: a file, or its lines as mappings, not {given!r}")
        try:
            return seed_data_of(lines_of(given), "seed_data")
        except BadLine as bad:
            raise BadSeedData(f"seed_data: {bad}") from None
    try:
        with open(given, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as trouble:
        raise BadSeedData(f"cannot read the seed data {given}: {trouble.strerror}") from None
    if len(data) > MOST_BYTES:
        raise BadSeedData(f"{given}: more than {MOST_BYTES} bytes: write the rest with `groupmock records write` once the cluster is up")
    return seed_data_of(data, str(given))


def seed_data_of(data: bytes, origin: str) -> SeedData:
    """Read seed data from the bytes of a file. Raises BadSeedData."""
    data_read = SeedData(origin)
    for _ in data_read.read(data):
        pass
    return data_read


def _check(target: Target, lines: Iterable[Parsed]) -> Iterator[None]:
    """Check that each line names things that exist or will exist by then, with a yield after each SLICE lines. Raises BadLine."""
    topics, settings = target.cluster.topics, target.config.settings
    made: dict[str, int] = {}
    for number, (line, given) in enumerate(lines, 1):
        if not number % SLICE:
            yield
        if isinstance(given, TopicLine):
            if given.topic in made or given.topic in topics:
                raise BadLine(line.number, f"topic: {given.topic!r} is there already: leave the line out, or choose another name")
            made[given.topic] = given.partitions or settings.num_partitions
        elif isinstance(given, RecordLine | CommitLine | OffsetLine):
            if given.topic is None:
                raise BadLine(line.number, 'topic: a record needs one: {"topic": "orders", "value": ...}')
            count = made.get(given.topic) or topics.partitions(given.topic)
            if count is None and isinstance(given, RecordLine) and settings.auto_create_topics_enable:
                count = made[given.topic] = settings.num_partitions
            _check_place(line, given, count)


def _check_place(line: Numbered, given: RecordLine | CommitLine | OffsetLine, count: int | None) -> None:
    before = f'write a line {{"topic": "{given.topic}", "partitions": N}} before it'
    if count is None:
        raise BadLine(line.number, f"topic: no topic {given.topic!r}: {before}")
    if given.partition is not None and given.partition >= count:
        raise BadLine(line.number, f"partition: {given.partition}: topic {given.topic!r} has 0 to {count - 1}: {before} with more")


Step = list[Parsed]
"""Lines that are applied in one step: records of one topic, commits of one group, or one line."""


def _steps(lines: Iterable[Parsed]) -> Iterator[Step]:
    step: Step = []
    for each in lines:
        if step and (len(step) == AT_ONCE or _together(step[0][1]) is None or _together(step[0][1]) != _together(each[1])):
            yield step
            step = []
        step.append(each)
    if step:
        yield step


def _together(given: Any) -> tuple[type, str] | None:
    if isinstance(given, RecordLine):
        return RecordLine, given.topic or ""
    return (CommitLine, given.group) if isinstance(given, CommitLine) else None


def _do(target: Target, step: Step, done: Seeded) -> None:
    line, first = step[0]
    try:
        if isinstance(first, RecordLine):
            done.records += _write(target, first.topic or "", step)
        elif isinstance(first, CommitLine):
            done.commits += _commit(target, first.group, step)
        elif isinstance(first, TopicLine):
            _submit(target, "create_topic", name=first.topic, partitions=first.partitions,
                    replication_factor=first.replication_factor, configs=as_texts(first.configs), topic_id=first.topic_id)  # fmt: skip
            done.topics += 1
        elif isinstance(first, OffsetLine):
            _submit(target, "set_next_offset", topic=first.topic, partition=first.partition, offset=first.next_offset,
                    start=first.start_offset)  # fmt: skip
        else:
            _submit(target, "configure_node", node=first.node, set=as_texts(first.configs))
            done.nodes += 1
    except CannotSteer as refused:
        raise BadLine(line.number, str(refused)) from None


def _write(target: Target, topic: str, step: Step) -> int:
    if topic not in target.cluster.topics:
        _submit(target, "create_topic", name=topic, partitions=target.config.settings.num_partitions)
    topic_log = target.cluster.topics.require(topic)
    reader = Reader(target, topic, len(topic_log.partitions))
    for line, given in step:
        reader.add(line, given)
    write(target, topic_log, reader.lines)
    return len(reader.lines)


def _commit(target: Target, group: str, step: Step) -> int:
    """Commit the offsets in these lines for a group. The last line for a partition counts, as with commits."""
    by_partition = {(each.topic, each.partition): each for _, each in step}
    offsets = [
        {"topic": each.topic, "partition": each.partition, "offset": each.offset} | ({"metadata": each.metadata} if each.metadata else {})
        for each in by_partition.values()
    ]
    _submit(target, "commit_offsets", group=group, offsets=offsets)
    return len(step)


def _submit(target: Target, name: str, /, **arguments: Any) -> None:
    target.submit(Command(name, {key: value for key, value in arguments.items() if value not in (None, {})}))


def as_texts(configs: Mapping[str, Plain]) -> dict[str, str]:
    """Return config values as texts, which is Kafka's form."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in configs.items()}
