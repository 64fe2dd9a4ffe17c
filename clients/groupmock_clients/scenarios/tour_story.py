"""The tour's story: journal rows in, sentences for somebody who never saw a rebalance out. Pure: it only reads rows (as dicts)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from groupmock.core.units import NS_PER_S
from groupmock.printable import quoted
from groupmock.rounds import Rebalance, Rebalances
from groupmock.rounds.rebalance_model import PREPARING

from .play import PRODUCER, RUNNER, Missed, Row, Sizes

DISMISS: Final = "dismiss"
"""The step in which everybody leaves."""
MEMBER_ID: Final = re.compile(r"\b([\w.]+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
INDENT: Final = " " * 11
ARRIVALS: Final = {
    "ada": ("Three aiokafka consumers arrive: ada, ben and cleo",),
    "dana": (
        "Two kafka-python consumers arrive: dana and eli",
        "Two libraries in one group: they agree on an assignor that both have.",
    ),
}
"""The first of those who arrive together -> title and text of that act."""


class StoryTeller:
    """`tell` it rows in order; it yields lines. `state`, `members` and `owned` are the group as of the last row.

    A round is a join phase, for that is what members live through; a rebalance whose leader brings no plan has more than one.
    """

    def __init__(self, group: str, topic: str, sizes: Sizes) -> None:
        self.group, self.topic, self.sizes = group, topic, sizes
        self.owned: dict[str, list[int]] = {}
        self.rounds = 0
        self.produced = 0
        self.readers: dict[tuple[int, int], list[str]] = {}
        """(partition, offset) -> who read it, in order."""
        self.killed: set[str] = set()
        self._explained = False
        self._rebalances = Rebalances(group)
        self._now = self._rebalances.groups[group]

    @property
    def state(self) -> str:
        """The group's."""
        return self._now.state

    @property
    def members(self) -> set[str]:
        """Their names."""
        return set(map(named, self._now.members))

    def introduction(self) -> Iterator[str]:
        """What a newcomer needs to know."""
        yield (
            f'Topic "{self.topic}" has {self.sizes.partitions} partitions. Consumers of the group "{self.group}" share them: '
            "each partition is read by one member."
        )
        yield "Whenever somebody comes or goes, the group makes a round (a rebalance): all members join again, the broker makes one of"
        yield "them the leader, the leader shares out the partitions, and everybody reads on from the committed offsets."
        yield "Times are seconds since the server started. Everything below is read from the server's journal as it grows."

    def tell(self, row: Row) -> Iterator[str]:
        """The lines that this row is worth, usually none."""
        over, kind = self._rebalances.feed(row), row["kind"]
        if kind == "client":
            yield from self._client(row)
        elif kind == "member" and row["group"] == self.group:
            yield from self._member(row)
        elif kind == "moved" and row["group"] == self.group:
            yield from self._moved(row)
        if over is not None and over.plan is not None:
            yield from self._shared_out(over)

    def reckoning(self) -> Iterator[str]:
        """The last words, in numbers. Raises Missed if a record was never read."""
        if lost := self.produced - len(self.readers):
            raise Missed(f"{lost} of {self.produced} records were never read")
        yield ""
        yield f"{self.produced} records were produced and every one was read, in {self.rounds} rounds."
        twice = [names for names in self.readers.values() if len(names) > 1]
        of_the_killed = Counter(name for names in twice for name in names[:1] if name in self.killed)
        for name, number in of_the_killed.items():
            yield f"Read twice: {count(number, 'record')} that {name} had read but not yet committed when it was killed;"
            yield "whoever got its partitions began again at its last commit."
        if others := len(twice) - of_the_killed.total():
            yield f"Read twice: {count(others, 'record')} because a round came between reading and committing."

    # What was done to the group, and its records

    def _client(self, row: Row) -> Iterator[str]:
        client, what, fields = row["client"], row["what"], row.get("fields", {})
        if client == PRODUCER:
            self.produced += fields["last"] - fields["first"] + 1
        elif what == "delivered":
            for offset in range(fields["first"], fields["last"] + 1):
                self.readers.setdefault((fields["partition"], offset), []).append(client)
        elif what == "killed":
            self.killed.add(client)
        elif client == RUNNER and what == "step":
            yield from self._act(row["t"], fields["step"], fields["member"])
        elif client == RUNNER and what == "end":
            yield self._so_far()

    def _act(self, t: int, step: str, member: str) -> Iterator[str]:
        """A step begins: what it is, before what comes of it."""
        if step == "start" and member in ARRIVALS:
            yield from self._titled(*ARRIVALS[member])
        elif step == "kill":
            held = numbers(self.owned.get(member, []))
            session = f"{self.sizes.session_ms / 1000:g} s"
            yield from self._titled(
                f"{member} crashes (kill -9)",
                f"Nobody says goodbye, so the broker cannot know. Until {member}'s session ends, {session} after the last heartbeat,",
                f"nobody reads {member}'s partitions {held}.",
            )
            yield f"{at(t)}  kill -9 {member}"
        elif step == "stop":
            yield from self._titled(
                f"{member} leaves in good order", "The consumer is closed: it commits, sends LeaveGroup, and the round starts at once."
            )
            yield f"{at(t)}  {member} closes"
        elif step == DISMISS:
            yield from ("", "--- Everybody goes home ---")

    def _titled(self, title: str, *text: str) -> Iterator[str]:
        if self.rounds:
            yield self._so_far()
        yield from ("", f"--- {title} ---", *(f"    {line}" for line in text))

    def _so_far(self) -> str:
        return f"{INDENT}So far {count(self.produced, 'record')} were produced and {len(self.readers)} of them read."

    # What the group makes of it

    def _member(self, row: Row) -> Iterator[str]:
        if row["what"] in ("added", "removed") and self.state == PREPARING:  # the round's own cause is told by the move that starts it
            yield f"{INDENT}Meanwhile: {because(row['reason'])}."

    def _moved(self, row: Row) -> Iterator[str]:
        if self.state == PREPARING:
            self.rounds += 1
            yield f"{at(row['t'])}  Round {self.rounds} starts: {because(row['reason'])}."
            if row["before"] == "Stable" and row.get("members") and not self._explained:
                self._explained = True
                yield f"{INDENT}Whoever is here hears of it in the answer to the next heartbeat, stops reading and joins again."
        elif self.state == "CompletingRebalance":
            yield f"{at(row['t'])}  Generation {row['generation']} has {count(row.get('members', 0), 'member')}: {because(row['reason'])}."
            leader, assignor = named(row.get("leader") or "nobody"), quoted(str(row.get("protocol_name")))
            yield f"{INDENT}{leader} leads and shares out the partitions with an assignor that all have, {assignor}."
        elif self.state == "Empty" and row["before"]:
            self.owned = {}
            yield f"{at(row['t'])}  The group is empty; its committed offsets stay."

    def _shared_out(self, over: Rebalance) -> Iterator[str]:
        assert over.plan is not None and over.ended is not None
        before = self.owned
        self.owned = {
            named(member): sorted(number for topic, number in told.assigned if topic == self.topic)
            for member, told in over.plan.told.items()
        }
        began = max((phase.began for phase in over.phases if phase.state == PREPARING), default=over.began)
        yield f"{at(over.ended)}  Round {self.rounds} is over after {(over.ended - began) / NS_PER_S:.1f} s. Who owns which partitions:"
        width = max((len(name) for name in self.owned), default=0)
        wide = max((len(numbers(held)) for held in self.owned.values()), default=0)
        for name, held in sorted(self.owned.items()):
            role = "leader" if name == named(over.plan.leader) else ""
            new = sorted(set(held) - set(before[name])) if name in before else []
            gained = f"  (new: {numbers(new)})" if new else ""
            yield f"{INDENT}  {name:<{width}}  {role:<6}  {numbers(held):<{wide}}{gained}".rstrip()


def named(text: str) -> str:
    """Member ids in a text cut down to the client's name: `ada-0f3c...` becomes `ada`."""
    return MEMBER_ID.sub(r"\1", text)


def because(reason: str) -> str:
    """A row's reason for somebody who does not know the words yet; an unknown one stays as it is."""
    text = named(reason)
    if found := re.fullmatch(r"session of (\S+) expired after (\d+) ms", text):
        return f"{found[1]}'s session ended, no heartbeat came for {int(found[2]) / 1000:g} s"
    if text == "the initial delay is over":
        return "the initial delay, a moment for others to join as well, is over"
    if found := re.fullmatch(r"all members joined, (\S+) was the last", text):
        return f"everybody joined, {found[1]} last"
    return text.removeprefix("member ")


def numbers(partitions: Iterable[int]) -> str:
    """Partition numbers as a person writes them."""
    return " ".join(map(str, partitions)) or "none"


def count(number: int, noun: str) -> str:
    """1 member, 2 members."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def at(ns: int) -> str:
    """Seconds since the server started."""
    return f"{ns / NS_PER_S:7.2f} s"
