"""Turn journal rows of the demo into sentences for readers who have never seen a rebalance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from groupmock.journal.rows import ROWS
from groupmock.rounds import name_of
from groupmock.story.teller import StoryTeller
from groupmock.story.words import count, rebalances_text, seconds

from .play import PRODUCER, RUNNER, Missed, Row, Sizes

DISMISS: Final = "dismiss"
NONE_YET: Final = rebalances_text(0, 0)
"""The name of the demo's step in which all members leave."""
INDENT: Final = " " * 11
ARRIVALS: Final = {
    "ada": ("Three aiokafka consumers arrive: ada, ben and cleo",),
    "dana": (
        "Two kafka-python consumers arrive: dana and eli",
        "Two libraries in one group: they agree on an assignor that both have.",
    ),
}
"""Maps the first of several members that arrive together to title and text of the act in which they arrive."""


class Tour:
    """Makes the commentary of the demo from journal rows. `tell` takes rows in order and yields lines. This class comments on the acts,
    and `groupmock.story` on the group."""

    def __init__(self, group: str, topic: str, sizes: Sizes) -> None:
        self.group, self.topic, self.sizes = group, topic, sizes
        self.produced = 0
        self.readers: dict[tuple[int, int], list[str]] = {}
        """Maps (partition, offset) to the members that read the record, in order."""
        self.killed: set[str] = set()
        self._explained = False
        self._lines: list[str] = []
        self._teller = StoryTeller(group, told=lambda _, line: self._lines.append(line.text))

    @property
    def rebalances(self) -> str:
        """Return how often the group has rebalanced so far."""
        tale = self._teller.tale(self.group)
        return rebalances_text(tale.tally.first_joins, tale.tally.causes.total()) if tale is not None else NONE_YET

    def owned(self, name: str) -> list[int]:
        """Return the partitions of the members with this client name."""
        tale = self._teller.tale(self.group)
        return sorted(number for (_, number), owner in tale.owners.items() if name_of(owner) == name) if tale is not None else []

    def introduction(self) -> Iterator[str]:
        """Yield the introduction of the demo for a newcomer."""
        yield (
            f'Topic "{self.topic}" has {self.sizes.partitions} partitions. Consumers of the group "{self.group}" share them: '
            "each partition is read by one member."
        )
        yield "Whenever somebody comes or goes, the group makes a round (a rebalance): all members join again, the broker makes one of"
        yield "them the leader, the leader shares out the partitions, and everybody reads on from the committed offsets."
        yield "A member is called by its client's name and four characters of its member id. Times are seconds since the server started."
        yield "Everything below is read from the server's journal as it grows, and told as a failed test tells it."

    def tell(self, row: Row) -> Iterator[str]:
        """Yield the commentary on a journal row, which is empty for most rows."""
        if row["kind"] == "client":
            # Lines that are held back, to be folded with their repetitions, are due only before a line of this commentary: records are
            # produced and read all the time.
            if lines := [*self._client(row)]:
                self._teller.flush()
                yield from self._heard()
                yield from lines
        elif row["kind"] in ROWS:
            self._teller.feed(msgspec.convert(row, ROWS[row["kind"]]))
            yield from self._heard()

    def end(self) -> Iterator[str]:
        """Yield the last lines of the commentary, when there are no more rows."""
        self._teller.close()
        yield from self._heard()

    def _heard(self) -> Iterator[str]:
        lines, self._lines = self._lines, []
        for line in lines:
            yield line
            if " hears of it by " in line and not self._explained:
                self._explained = True
                yield f"{INDENT}Whoever is here hears of it in the answer to the next heartbeat, stops reading and joins again."

    def reckoning(self) -> Iterator[str]:
        """Yield the final figures of the demo. Raises Missed if a record was never read."""
        if lost := self.produced - len(self.readers):
            raise Missed(f"{lost} of {self.produced} records were never read")
        yield ""
        yield f"{self.produced} records were produced and every one was read, in {self.rebalances}."
        twice = [names for names in self.readers.values() if len(names) > 1]
        of_the_killed = Counter(name for names in twice for name in names[:1] if name in self.killed)
        for name, number in of_the_killed.items():
            yield f"Read twice: {count(number, 'record')} that {name} had read but not yet committed when it was killed;"
            yield "whoever got its partitions began again at its last commit."
        if others := len(twice) - of_the_killed.total():
            yield f"Read twice: {count(others, 'record')} because a round came between reading and committing."

    # -- steps and records

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
        """Announce an act of the demo before its effects."""
        if step == "start" and member in ARRIVALS:
            yield from self._titled(*ARRIVALS[member])
        elif step == "kill":
            held = numbers(self.owned(member))
            session = f"{self.sizes.session_ms / 1000:g} s"
            yield from self._titled(
                f"{member} crashes (kill -9)",
                f"Nobody says goodbye, so the broker cannot know. Until {member}'s session ends, {session} after the last heartbeat,",
                f"nobody reads {member}'s partitions {held}.",
            )
            yield f"{seconds(t):>9}  kill -9 {member}"
        elif step == "stop":
            yield from self._titled(
                f"{member} leaves in good order", "The consumer is closed: it commits, sends LeaveGroup, and the round starts at once."
            )
            yield f"{seconds(t):>9}  {member} closes"
        elif step == DISMISS:
            yield from ("", "--- Everybody goes home ---")

    def _titled(self, title: str, *text: str) -> Iterator[str]:
        if self.rebalances != NONE_YET:
            yield self._so_far()
        yield from ("", f"--- {title} ---", *(f"    {line}" for line in text))

    def _so_far(self) -> str:
        return f"{INDENT}So far {count(self.produced, 'record')} were produced and {len(self.readers)} of them read."


def numbers(partitions: Iterable[int]) -> str:
    """Format partition numbers for a sentence."""
    return " ".join(map(str, partitions)) or "none"
