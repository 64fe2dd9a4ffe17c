"""Make the lines about the tasks of a streams group: why a member gets none, which tasks move, and which internal topics are created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from ..journal.rows import NoteRow, ReplyRow
from ..journal.whose import field
from ..rounds import GroupFold, Move
from ..rounds.tasks import TASK
from .asked import Asked
from .exchanged import errors_of, items, number
from .folding import Line, Together
from .people import People
from .words import MOST, SENTENCE, count, partitions_text, text

BEAT: Final = "StreamsGroupHeartbeat"
CREATED: Final = "internal_topic_created"
KEPT: Final = 1_000
"""The statuses of at most this many members are remembered."""
STALE, SOURCES, PARTITIONED, INTERNAL, SHUTDOWN, DELAYED, TAGS = range(7)
STATUSES: Final = {
    STALE: ("STALE_TOPOLOGY", "It gets tasks all the same; give it the group's topology"),
    SOURCES: ("MISSING_SOURCE_TOPICS", "Create them, because Kafka Streams does not"),
    PARTITIONED: ("INCORRECTLY_PARTITIONED_TOPICS", "Make the numbers of partitions agree, or delete the internal topic"),
    INTERNAL: ("MISSING_INTERNAL_TOPICS", ""),
    SHUTDOWN: ("SHUTDOWN_APPLICATION", "The log of that member has the exception"),
    DELAYED: ("ASSIGNMENT_DELAYED", ""),
    TAGS: ("MISSING_CLIENT_TAGS", ""),
}
"""Maps the codes of statuses in answers to their names (KIP-1071) and to what a user can do."""


class Status(NamedTuple):
    """A status that a member heard for the first time at `since`."""

    since: int
    code: int
    detail: str

    @property
    def name(self) -> str:
        return STATUSES.get(self.code, (f"STATUS {self.code}", ""))[0]

    @property
    def remedy(self) -> str:
        return STATUSES.get(self.code, ("", ""))[1]

    @property
    def told(self) -> str:
        return f"{self.name}: {text(self.detail, SENTENCE)}" + (f" {self.remedy}" if self.remedy else "")


class Tasks:
    """The statuses of the last answer to each member, by member id and code, and the subtopologies that have state. `first_shutdown` is
    the first status that says who ended the application."""

    def __init__(self) -> None:
        self.statuses: dict[str, dict[int, Status]] = {}
        self.first_shutdown: Status | None = None
        self._stateful: set[str] = set()
        self._told: tuple[int, int] = (0, 0)  # The number of the last rebalance whose moves have lines, and how many of them have.

    def joins(self, beat: Any) -> None:
        """Note which subtopologies of a join have state."""
        for each in items(field(beat, "topology"), "subtopologies"):
            if field(each, "state_changelog_topics"):
                self._stateful.add(f"{TASK}{field(each, 'subtopology_id')}")

    def hears(self, member: str, row: ReplyRow) -> Iterator[Status]:
        """Note the statuses in an answer, and yield those that the member's last answer did not have."""
        before = self.statuses.pop(member, {})
        now = {number(each, "status_code"): str(field(each, "status_detail")) for each in items(row.message, "status")}
        kept = {
            code: before[code] if code in before and before[code].detail == detail else Status(row.t, code, detail)
            for code, detail in now.items()
        }
        if kept and len(self.statuses) < KEPT:
            self.statuses[member] = kept
        for code, each in kept.items():
            if code == SHUTDOWN and self.first_shutdown is None:
                self.first_shutdown = each
            if code not in before or before[code].detail != each.detail:
                yield each

    def moves(self, rebalance: int, moves: list[Move]) -> list[Move]:
        """Return the moves of a rebalance that have no line yet."""
        told = self._told[1] if self._told[0] == rebalance else 0
        self._told = rebalance, len(moves)
        return moves[told:]

    def how_it_begins(self, move: Move) -> str:
        """Say how the new member of a task gets its state, or return "" for a task without state."""
        if move.stood_by:
            return "standby"
        return "changelog" if move.partition[0] in self._stateful else ""


class Tale(Protocol):
    """The parts of a group's story that lines about tasks need (`tale.Tale`)."""

    fold: GroupFold
    people: People
    tasks: Tasks

    def who(self, asked: Asked) -> str: ...
    def ids(self, asked: Asked) -> tuple[str, ...]: ...
    def refused(self, row: ReplyRow, asked: Asked, what: str, error: str, because: str = "") -> Line: ...


def answered(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Say what an answer to a heartbeat of a streams group changes for its member."""
    for error in errors_of(row)[:MOST]:
        because = text(field(row.message, "error_message") or "", SENTENCE)
        yield tale.refused(row, asked, BEAT, error, because)
    if row.error:
        return
    name, ids = tale.who(asked), tale.ids(asked)
    for status in tale.tasks.hears(ids[0], row) if ids else ():
        yield Together(row.t, name, f"hears {status.told}", f"hear {status.told}", ids, ("status", status.told))
    over = tale.fold.rebalance or tale.fold.last
    if over is not None:
        yield from _moved(tale, row, tale.tasks.moves(over.number, over.reassigned))


def _moved(tale: Tale, row: ReplyRow, moves: Iterable[Move]) -> Iterator[Line]:
    alike: dict[tuple[str, str, str], list[Move]] = {}
    for each in moves:
        alike.setdefault((each.before.member, each.after.member, tale.tasks.how_it_begins(each)), []).append(each)
    for (before, after, how), together in alike.items():
        tasks, many = partitions_text([each.partition for each in together]), len(together) > 1
        new, it = tale.people.name(after), "them" if many else "it"
        state = {"standby": f": {new} had {it} as standby", "changelog": f": {new} had no standby of {it}"}.get(how, "")
        moved = f"tasks {tasks} move" if many else f"task {tasks} moves"
        yield Line(row.t, f"{moved} from {tale.people.name(before)} to {new}{state}", (before, after))


def created(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Say that the broker created a topic that the topology needs."""
    partitions = count(int(row.fields["partitions"]), "partition")
    yield Line(row.t, f"internal topic {text(row.fields['topic'])} created with {partitions}, because a heartbeat needed it")
