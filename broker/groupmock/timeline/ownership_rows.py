"""Lay the ownership map of a group out: a row for each partition, in which the colour is the process that owns it, and above them how many
partitions each rebalance moved. Many partitions are folded to their topics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..rounds import JOINT, OWNED, PALE, SHARED, UNKNOWN, UNOWNED
from ..rounds.tasks import TASK, place_name
from ..story.words import count
from .model import OWNERSHIP, Group, Stretch, Timeline

UNFOLDED: Final = 64
"""The rows of at most this many partitions of a group are shown without a click."""
LABELS: Final = 20
"""About this many labels have room side by side in a picture."""
WORST: Final = (SHARED, UNOWNED, PALE, UNKNOWN, JOINT, OWNED)
"""The states in the order in which one of them stands for a topic's partitions."""
PARTITION: Final = "partition"


class MapItem(NamedTuple):
    """An item is a thing in a row of the map. `sign` is the name of a sign, and `process` an index into `Group.processes` or -1."""

    sign: str
    since: int
    until: int
    what: str
    label: str = ""
    process: int = -1
    partitions: str = ""
    owners: str = ""
    moved: int | None = None
    why: str = ""


class MapRow(NamedTuple):
    """A row of the map. A row that names another one in `under` is shown while that one is open."""

    kind: str
    title: str
    items: list[MapItem]
    high: int = 14
    under: str = ""


def map_rows(timeline: Timeline, group: Group) -> Iterator[MapRow]:
    """Yield the rows of a group's ownership map, from top to bottom. A group whose members never owned a partition has none."""
    if not group.owners:
        return
    end = timeline.sources[group.source].end
    moves = list(_moves(timeline, group, end))
    if moves:
        yield MapRow("moves", f"moved {unit_of(timeline, group)}s", moves, 18)
    topics: defaultdict[str, defaultdict[int, list[tuple[Stretch, bool]]]] = defaultdict(lambda: defaultdict(list))
    for stretch in group.owners:
        first = True  # Of partitions that a process got and lost together, only the first has a label.
        for topic in timeline.sets[stretch.held]:
            for number in topic.numbers:
                topics[timeline.topics[topic.topic]][number].append((stretch, first))
                first = False
    folded = sum(map(len, topics.values())) > UNFOLDED
    for name, partitions in sorted(topics.items()):
        title = f"{name} ({count(len(partitions), 'task' if name.startswith(TASK) else 'partition')})"
        if folded:
            spans = [stretch for found in partitions.values() for stretch, _ in found]
            yield MapRow("topic", title, list(_together(group, spans, len(partitions), end)), 24)
        for number, found in sorted(partitions.items()):
            items = [_item(group, stretch, place_name(name, number), labelled, end) for stretch, labelled in found]
            yield MapRow("partition", place_name(name, number), items, under=title if folded else "")


def unit_of(timeline: Timeline, group: Group) -> str:
    """Return what the members of a group own: partitions, or tasks in a streams group."""
    held = (timeline.topics[topic.topic] for stretch in group.owners for topic in timeline.sets[stretch.held])
    return TASK.strip() if next(held, "").startswith(TASK) else PARTITION


def _moves(timeline: Timeline, group: Group, end: int) -> Iterator[MapItem]:
    """Yield what each rebalance moved, except of those that moved nothing before somebody owned a partition. Beside a rebalance that
    moved partitions, one that moved none has no label, because there is room for one."""
    first = min((each.since for each in group.owners if OWNERSHIP[each.state] == OWNED), default=end)
    over = [(each.ended, each) for each in group.rounds if each.ended is not None and (each.began > first or each.moves)]
    beside = (end - timeline.sources[group.source].begin) // LABELS
    for place, (ended, each) in enumerate(over):
        told = "moves not known" if each.moves is None else f"{each.moves} moved"
        label = told if each.moves is None or len(over) <= LABELS // 2 else str(each.moves)
        near = [other for at, other in over[max(0, place - 1) : place + 2] if abs(at - ended) < beside]
        sign = "moved nothing" if each.moves == 0 and any(other.moves for other in near) else "moved"
        yield MapItem(sign, ended, ended, f"{each.title}: {told}", label, moved=each.moves, why=each.reason)


def _item(group: Group, stretch: Stretch, partition: str, labelled: bool, end: int) -> MapItem:
    state, names = OWNERSHIP[stretch.state], [group.processes[each] for each in stretch.processes]
    owners = ", ".join(names)
    what = {
        OWNED: f"owned by {owners}",
        PALE: f"the connection of {owners} is gone, its session still runs",
        UNOWNED: "nobody owns it",
        SHARED: f"{len(names)} owners",
        JOINT: f"read by {owners}",
    }.get(state, "not known, because the rows begin later")
    until = end if stretch.until is None else stretch.until
    process = stretch.processes[0] if state in (OWNED, PALE) else -1
    return MapItem(state, stretch.since, until, what, owners if labelled else "", process, partition, owners)


def _together(group: Group, stretches: Iterable[Stretch], of: int, end: int) -> Iterator[MapItem]:
    """Yield what a topic's partitions are together: the worst state that one of them has, and how many have it."""
    changes: defaultdict[int, Counter[tuple[str, tuple[int, ...]]]] = defaultdict(Counter)
    for each in stretches:
        key = (OWNERSHIP[each.state], tuple(each.processes))
        changes[each.since][key] += 1
        changes[end if each.until is None else each.until][key] -= 1
    now: Counter[tuple[str, tuple[int, ...]]] = Counter()
    last: MapItem | None = None
    for since, until in zip(times := sorted(changes), times[1:], strict=False):
        now.update(changes[since])
        item = _summary(group, now, of, since, until)
        if last is not None and item is not None and (last.what, last.process, last.until) == (item.what, item.process, since):
            last = last._replace(until=until)
            continue
        if last is not None:
            yield last
        last = item
    if last is not None:
        yield last


def _summary(group: Group, now: Counter[tuple[str, tuple[int, ...]]], of: int, since: int, until: int) -> MapItem | None:
    states: Counter[str] = Counter()
    for (state, _), number in now.items():
        states[state] += number
    worst = next((state for state in WORST if states[state] > 0), None)
    if worst is None:
        return None
    owners = sorted({each for (state, processes), number in now.items() if number > 0 and state == worst for each in processes})
    names = ", ".join(group.processes[each] for each in owners)
    told = f"{states[worst]} of {of} {worst}"
    if worst == OWNED:
        told += f" by {names}" if len(owners) < 3 else f" by {len(owners)} processes"
    alone = owners[0] if len(owners) == 1 else -1
    sign = "several" if worst in (OWNED, PALE) and alone < 0 else worst
    return MapItem(f"{sign} together" if sign in (UNOWNED, PALE) else sign, since, until, told, told, alone, owners=names)
