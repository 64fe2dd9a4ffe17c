"""Check the invariants about single members, from a run's rows: the calls of listeners, and the fate of records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from groupmock.rounds import Generation, Partition, Partitions, Rebalances, name_of
from groupmock.rounds.embedded import EAGER
from groupmock_codec.api_keys import JOIN_GROUP
from groupmock_codec.units import NS_PER_MS

from .measure import measure
from .play import GROUP, Row, ScenarioRun, Speaks

LISTED: Final = 8


@dataclass(frozen=True, slots=True)
class BrokenInvariant:
    """A violation of one invariant by a run of a scenario. `at_ms` is on the journal's clock."""

    invariant: str
    at_ms: float
    text: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at_ms:.0f} ms: {self.text}"


def said(row: Row, *what: str) -> bool:
    """Tell whether a row is a `client` row of one of the given kinds."""
    return bool(row["kind"] == "client" and row["what"] in what)


def listed(partitions: Partitions | set[Partition]) -> str:
    """Format partitions for a sentence, at most the first LISTED."""
    names = [f"{topic}-{number}" for topic, number in sorted(partitions)]
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


# -- callbacks


def callbacks(run: ScenarioRun) -> Iterator[BrokenInvariant]:
    """Check I4: a listener is told of the partitions that really come and go."""
    fold = Rebalances(GROUP)
    group, seen = fold.groups[GROUP], None
    held: defaultdict[str, set[Partition]] = defaultdict(set)
    # Maps a member to the partitions that it reported as revoked and has not got again.
    gone: defaultdict[str, set[Partition]] = defaultdict(set)
    # Maps a member to whether it lists an eager assignor, so that its listener gets all partitions in every rebalance.
    eager: dict[str, bool] = {}
    for row in run.rows:
        fold.feed(row)
        if row["kind"] == "request" and row["api_key"] == JOIN_GROUP:
            eager[row["message"]["member_id"]] = any(each["name"] in EAGER for each in row["message"]["protocols"])
        if group.generation is not None and group.generation is not seen:
            seen = group.generation
            yield from _still_claimed(seen, gone, eager)
        if said(row, "started", "killed", "stopped"):
            held.pop(row["client"], None)
            gone.pop(row["client"], None)
        elif said(row, "assigned", "revoked", "lost"):
            told = {(topic, number) for topic, number in row["fields"]["partitions"]}
            for text in _impossible(row, held[row["client"]], gone[row["client"]], told):
                yield BrokenInvariant("I4", row["t"] / NS_PER_MS, text)


def _impossible(row: Row, held: set[Partition], gone: set[Partition], told: set[Partition]) -> Iterator[str]:
    if row["what"] == "assigned":
        if told & held:
            yield f"{row['client']} was told that {listed(told & held)} came, which it held"
        held |= told
        gone -= told
        return
    if told - held:
        yield f"{row['client']} was told that {listed(told - held)} went, which it did not hold"
    held -= told
    gone |= told


def _still_claimed(last: Generation, gone: dict[str, set[Partition]], eager: dict[str, bool]) -> Iterator[BrokenInvariant]:
    for member, claim in last.claims.items():
        kept = claim.owned & gone.get(name_of(member), set()) if not eager.get(member) else frozenset()
        if kept:
            text = f"{name_of(member)} still claims {listed(kept)}, which its listener heard to be gone"
            yield BrokenInvariant("I4", last.began_ms, text)


# -- records


def records(run: ScenarioRun) -> Iterator[BrokenInvariant]:
    """Check that no record is lost, and that a CooperativeConsumer gets no record twice unless its first receiver was killed or
    expelled."""
    lost = measure(run.rows).lost
    if lost:
        yield BrokenInvariant("no record is lost", run.rows[-1]["t"] / NS_PER_MS, f"{lost} were produced and never delivered")
    if run.protocol.twin and run.scenario.starts is Speaks.TARGET:
        yield from _twice(run.rows)


class _Delivered:
    """A range of offsets that one member received. `over` says that the member was killed or expelled since."""

    __slots__ = ("first", "last", "member", "over")

    def __init__(self, member: str, fields: dict[str, Any]) -> None:
        self.member, self.first, self.last, self.over = member, int(fields["first"]), int(fields["last"]), False


def _twice(rows: Sequence[Row]) -> Iterator[BrokenInvariant]:
    had: defaultdict[Partition, list[_Delivered]] = defaultdict(list)
    for row in rows:
        if said(row, "killed", "lost"):
            for each in (each for those in had.values() for each in those if each.member == row["client"]):
                each.over = True
        elif said(row, "delivered"):
            fields = row["fields"]
            new, earlier = _Delivered(row["client"], fields), had[fields["topic"], fields["partition"]]
            for each in earlier:
                if not each.over and each.first <= new.last and new.first <= each.last:
                    place = f"{fields['topic']}-{fields['partition']}, {new.first} to {new.last}"
                    text = f"{place}: to {new.member} after {each.member} had it"
                    yield BrokenInvariant("no record comes twice to a twin", row["t"] / NS_PER_MS, text)
            earlier.append(new)
