"""Compute figures from a journal's rows, including `client` rows. The functions are pure, and the same for all stages.

The measurement covers the time between the runner's `begin` and `end` (play.py). The terms:

* A *generation* is a rebalance that the leader completed. A generation counts as a *round* if its assignments or revocations differ from
  the generation before; kafka-python drops a join sometimes and joins again, which changes nothing.
* In a consumer group (KIP-848) a *generation* is a rebalance, from a new group epoch until all members have reached it. A generation of a
  consumer group counts as a round if it assigned or revoked a partition. A member of a consumer group owns the partitions that the reply to
  its heartbeat assigned.
* A round is *late* if a member still claims a partition that was revoked in the generation before. librdkafka may rejoin because of another
  member before it has given the partition up, and moving the partition takes one more round.
* A partition *moved* when it is assigned to another process than before. A process that comes back under its name counts as the same
  process.
* A member *owns* what a SyncGroup reply assigned, until a reply takes it away, or the member joins without claiming it (an eager member
  claims nothing), leaves, is expelled, or loses its connection and does not go on by another one. Partition-seconds without an owner are
  computed from this ownership, hence from the journal alone.
* A partition is *not delivered* while one of its records has waited longer than GRACE_MS for its first delivery. If members report the
  partitions that they serve (virtual runs), a partition is not delivered while no member serves it.
* A record is *delivered twice* for every delivery after its first, and *lost* if it was produced and never delivered.
* The time *to converge* is the sum over all steps of the time until the last member has learned of the last round before the next step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final

from groupmock.rounds import PALE, UNOWNED, Generation, Partition, Rebalance, ownership_maps
from groupmock_codec.units import NS_PER_MS, NS_PER_S

from .play import GROUP, PRODUCER, RUNNER, Row

GRACE_MS: Final = 150
"""The longest time in ms that a record may wait and still counts as delivered at once."""


class NotMeasurable(ValueError):
    """The rows do not hold one whole measured run. The text says what is missing."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures that were measured in one run of a scenario. `unowned_s` and `undelivered_s` are partition-seconds. See the module's
    docstring for the terms."""

    generations: int
    rounds: int
    late: int
    moved: int
    unowned_s: float
    undelivered_s: float
    duplicates: int
    lost: int
    converge_s: float

    def as_fields(self) -> dict[str, Any]:
        """Return the figures for JSON, with times to the millisecond."""
        return {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(self).items()}


def measure(rows: Sequence[Row]) -> Figures:
    """Compute the figures of a run of a scenario from its journal rows. Raises NotMeasurable."""
    begin, end = _edge(rows, "begin"), _edge(rows, "end")
    group = GroupHistory(rows, begin)
    counted: list[Finished | Followed] = [*group.counted, *group.followed]
    counted = [each for each in counted if each.heard_last > begin]
    followed = [each for each in group.targets if each.heard_last > begin]
    unserved = _unserved(rows, begin, end) if any(_client(row, "serves") for row in rows) else _waits(rows, begin, end)
    delivered = _ranges(rows, "delivered")
    before = _ranges([row for row in rows if row["t"] < begin], "delivered")
    return Figures(
        generations=sum(each.heard_last > begin for each in group.finished) + len(followed),
        rounds=len(counted),
        late=_late(group.finished, counted),
        moved=group.moved(),
        unowned_s=group.map.lasted(PALE, UNOWNED, begin=begin, end=end) / NS_PER_S,
        undelivered_s=sum(unserved) / NS_PER_S,
        duplicates=_repeated(delivered) - _repeated(before),
        lost=_missing(_ranges(rows, "produced"), delivered),
        converge_s=_converging(rows, counted) / NS_PER_S,
    )


def _client(row: Row, what: str) -> bool:
    return bool(row["kind"] == "client" and row["what"] == what)


def _edge(rows: Sequence[Row], what: str) -> int:
    found = [row["t"] for row in rows if _client(row, what) and row["client"] == RUNNER]
    if len(found) != 1:
        raise NotMeasurable(f"{len(found)} rows of the runner say {what!r} where there must be one")
    return int(found[0])


# -- rounds


@dataclass(slots=True)
class Finished:
    """A generation of a classic group for which the leader has sent assignments. `heard_last` is the time in ns of the last SyncGroup
    reply."""

    generation: Generation
    heard_last: int

    def says(self) -> object:
        """Return the assignments of the generation, which counts as a round only if they differ from those of the last one."""
        return {member: (each.assigned, each.revoked) for member, each in self.generation.told.items()}


@dataclass(slots=True)
class Followed:
    """A completed rebalance of a consumer group (KIP-848). `heard_last` is the time in ns at which the last member reached its epoch."""

    rebalance: Rebalance
    heard_last: int


class GroupHistory:
    """The group's generations and its ownership map, computed from every row in the journal's order."""

    def __init__(self, rows: Iterable[Row], begin: int) -> None:
        self._begin = begin
        self.map = ownership_maps(rows, GROUP)[GROUP]
        found = self.map.rebalances
        self.finished = [
            Finished(each, max(each.heard.values())) for one in found for each in one.generations if each.heard.keys() & each.told.keys()
        ]
        self.targets = [Followed(each, each.ended) for each in found if not each.classic and each.ended is not None]

    def moved(self) -> int:
        """Return how many partitions moved in the rebalances after the begin."""
        return sum(each.moved or 0 for each in self.map.rebalances if each.ended is not None and each.ended > self._begin)

    @property
    def counted(self) -> list[Finished]:
        """Return the generations that count as rounds."""
        return [each for place, each in enumerate(self.finished) if not place or each.says() != self.finished[place - 1].says()]

    @property
    def followed(self) -> list[Followed]:
        """Return the rebalances of a consumer group that count as rounds."""
        return [each for each in self.targets if each.rebalance.dealt or each.rebalance.asked_back]


def _late(finished: Sequence[Finished], counted: Sequence[Finished | Followed]) -> int:
    late = 0
    for before, each in pairwise(finished):
        asked = before.generation.told
        still = any(claim.owned & asked[member].revoked for member, claim in each.generation.claims.items() if member in asked)
        late += still and each in counted
    return late


def _converging(rows: Sequence[Row], counted: Sequence[Finished | Followed]) -> int:
    """Sum the convergence times of all steps in ns. A step without a round takes no time."""
    steps = [row["t"] for row in rows if _client(row, "step")]
    summed = 0
    for place, step in enumerate(steps):
        until = steps[place + 1] if place + 1 < len(steps) else None
        heard = [each.heard_last for each in counted if each.heard_last > step and (until is None or each.heard_last <= until)]
        summed += max(heard, default=step) - step
    return summed


# -- records


def _ranges(rows: Iterable[Row], what: str) -> dict[Partition, list[tuple[int, int]]]:
    """Return partition -> [(first, last), ...] in the journal's order."""
    found: defaultdict[Partition, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if _client(row, what):
            fields = row["fields"]
            found[fields["topic"], fields["partition"]].append((fields["first"], fields["last"]))
    return found


def _covered(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merge overlapping and adjacent ranges of offsets."""
    current: tuple[int, int] | None = None
    for first, last in sorted(ranges):
        if current is not None and first <= current[1] + 1:
            current = current[0], max(current[1], last)
            continue
        if current is not None:
            yield current
        current = first, last
    if current is not None:
        yield current


def _size(ranges: Iterable[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _repeated(found: Mapping[Partition, list[tuple[int, int]]]) -> int:
    return sum(_size(ranges) - _size(_covered(ranges)) for ranges in found.values())


def _missing(produced: Mapping[Partition, list[tuple[int, int]]], delivered: Mapping[Partition, list[tuple[int, int]]]) -> int:
    """Count offsets that were produced and not delivered."""
    return sum(
        _size(_covered([*ranges, *delivered.get(partition, ())])) - _size(_covered(delivered.get(partition, ())))
        for partition, ranges in produced.items()
    )


def _unserved(rows: Iterable[Row], begin: int, end: int) -> Iterator[int]:
    """Yield for each partition that was served or got records the ns in which no member served the partition."""
    serving: dict[str, frozenset[Partition]] = {}
    spans: defaultdict[Partition, list[tuple[int, int]]] = defaultdict(list)
    since: dict[tuple[str, Partition], int] = {}
    born: dict[Partition, int] = {}
    for row in rows:
        if row["kind"] == "command" and row["name"] in ("create_topic", "grow_topic"):
            for number in range(int(row["arguments"]["partitions"])):
                born.setdefault((str(row["arguments"]["name"]), number), row["t"])
        if not _client(row, "serves"):
            continue
        client, now = row["client"], frozenset((topic, number) for topic, number in row["fields"]["partitions"])
        before = serving.get(client, frozenset())
        for partition in before - now:
            spans[partition].append((since.pop((client, partition)), row["t"]))
        since.update({(client, partition): row["t"] for partition in now - before})
        serving[client] = now
    for (_, partition), start in since.items():
        spans[partition].append((start, end))
    for partition, made in born.items():
        start = max(begin, made)
        inside = [(max(first, start), min(last, end)) for first, last in spans[partition] if last > start and first < end]
        yield end - start - _length(inside)


def _waits(rows: Sequence[Row], begin: int, end: int) -> Iterator[int]:
    """Yield for each partition the ns in which a record waited too long for its first delivery."""
    first: dict[tuple[Partition, int], int] = {}
    for row in rows:
        if _client(row, "delivered"):
            for record in _records(row):
                first.setdefault(record, row["t"])
    waits: defaultdict[Partition, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if _client(row, "produced") and row["client"] == PRODUCER:
            for record in _records(row):
                until = first.get(record, end)
                if until - row["t"] > GRACE_MS * NS_PER_MS:
                    waits[record[0]].append((max(row["t"], begin), min(until, end)))
    for spans in waits.values():
        yield _length(each for each in spans if each[0] < each[1])


def _records(row: Row) -> Iterator[tuple[Partition, int]]:
    fields = row["fields"]
    partition = fields["topic"], fields["partition"]
    for offset in range(fields["first"], fields["last"] + 1):
        yield partition, offset


def _length(spans: Iterable[tuple[int, int]]) -> int:
    """Return the total length of these spans of time, in which overlapping parts count once."""
    covered, end = 0, None
    for first, last in sorted(spans):
        covered += last - (first if end is None or first > end else min(end, last))
        end = last if end is None else max(end, last)
    return covered
