"""The live stage: a broker with a journal in this process, a process for every member, and a steady producer (see play.ScenarioStage)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from typing import Protocol as Interface

from groupmock import Broker
from groupmock.rounds import Generation, GroupFold, name_of
from groupmock_codec.group_states import EMPTY, STABLE

from ..play import GROUP, PRODUCER, Missed, Protocol, Row, Sizes, Speaks
from .journal_thread import JournalThread
from .process import MemberProcess
from .producer import Producer
from .protocol_members import spec_for

PATIENCE_S: Final = 20.0
CALM_HEARTBEATS: Final = 2.5
"""The time without events after which a group counts as settled. A member that wants another round sends JoinGroup within a heartbeat
interval."""
LOOK_S: Final = 0.1
STORY: Final = 3000
Partition = tuple[str, int]


class Process(Interface):
    """The interface of a member's process to the stage (process.MemberProcess)."""

    def check(self) -> None: ...
    def tail(self) -> str: ...
    def subscribe(self, topics: Sequence[str]) -> None: ...
    def kill(self) -> None: ...
    def leave(self) -> None: ...


class LiveStage:
    """The ScenarioStage with stock clients over TCP. One thread uses it. Members, producer and journal are read on threads of their own."""

    kind = "live"

    def __init__(self, sizes: Sizes, protocol: Protocol, broker: Broker, journal: Path, folder: Path) -> None:
        self.sizes, self.protocol, self.broker = sizes, protocol, broker
        self._folder = folder
        self._living: dict[str, Process] = {}
        self._holds: dict[str, frozenset[Partition]] = {}
        self._delivered: dict[Partition, int] = {}  # Maps a partition to the offset after the last record that any member received.
        self._hearing = threading.Lock()
        self._closed = self._over = False
        self._topics: Sequence[str] = ()
        self._journal = JournalThread(journal, GROUP, self._connected)
        self._producer = Producer(broker, sizes.rate, self._produced)
        self._patience = PATIENCE_S + (2 * sizes.session_ms + 2 * sizes.delay_ms + sizes.partitions * sizes.move_interval_ms) / 1000

    def close(self) -> None:
        """End all processes and threads of the stage that still run."""
        self._producer.stop()
        for process in self._living.values():
            process.kill()
        self._living.clear()
        with self._hearing:
            # `_closed` is set first, because a member whose start was interrupted is not in `_living` and may go on reporting.
            self._closed = True
        self._journal.close()
        with self._journal.changed:
            self._over = True
            self._journal.changed.notify_all()

    def journal_rows(self) -> Iterator[Row]:
        """Yield every row of the journal as it is written, on any thread, until the stage is closed."""
        seen = 0
        while True:
            with self._journal.changed:
                while len(self._journal.rows) == seen and not self._over:
                    self._journal.changed.wait()
                new = self._journal.rows[seen:]
            if not new:
                return
            seen += len(new)
            yield from new

    def dismiss(self) -> None:
        """Let all members leave at the same time, and return when the group is empty."""
        with ThreadPoolExecutor(max(1, len(self._living))) as pool:
            list(pool.map(self.stop, list(self._living)))
        self._until("an empty group", lambda: self._journal.group.state == EMPTY)

    def start(self, member: str, speaks: Speaks, topics: Sequence[str]) -> None:
        """Start the process of a member. The very first one is waited for, so that it leads however busy the machine is."""
        self._topics = topics
        first = not self._joined() and not self._living
        process = self._process(member, speaks, topics)
        self.tell(member, "started", {})
        self._living[member] = process
        if first:
            self._until(f"{member} in the group", self._joined)

    def _process(self, member: str, speaks: Speaks, topics: Sequence[str]) -> Process:
        spec = spec_for(member, self.broker.bootstrap, self.sizes, self.protocol, speaks, topics)
        return MemberProcess(spec, self._folder / f"{member}.log", self._heard)

    def kill(self, member: str) -> None:
        self._living.pop(member).kill()
        self._gone(member, "killed")

    def stop(self, member: str) -> None:
        process = self._living.pop(member)
        try:
            process.leave()
        finally:
            self._gone(member, "stopped")

    def subscribe(self, members: Sequence[str], topics: Sequence[str]) -> None:
        """Subscribe all members at once, just before the next records arrive."""
        self._topics = topics
        self._producer.between_two()
        for member in members:
            self._living[member].subscribe(topics)

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic and produce to it from now on."""
        self.broker.create_topic(topic, partitions)
        self._producer.add(topic, partitions)

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions and produce to them from now on."""
        self.broker.grow_topic(topic, partitions)
        self._producer.add(topic, partitions)

    def leader(self) -> str:
        """Return the leader of the last round, or "" in a consumer group."""
        with self._journal.changed:
            return name_of(self._newest().leader) if self._journal.group.generation is not None else ""

    def noticed(self, members: frozenset[str]) -> None:
        self._until(f"a stable group of {', '.join(sorted(members))}", lambda: self._stable(members))

    def settled(self, members: frozenset[str]) -> None:
        """Wait until journal and members show a settled group, and nothing has happened for a while."""
        calm_ms = CALM_HEARTBEATS * self.sizes.heartbeat_ms
        quiet = _Quiet()

        def settled() -> bool:
            seen = self._journal.group
            newest = seen.generation.number if seen.generation is not None else -1
            known = seen.since, newest, seen.last.number if seen.last is not None else 0, dict(self._holds)
            return self._stable(members) and self._everything_owned() and quiet.for_ms(known) >= calm_ms

        self._until(f"a settled group of {', '.join(sorted(members))}", settled)

    def wait(self, ms: float) -> None:
        """Let time pass, and notice a member that ends by itself."""
        time.sleep(ms / 1000)
        for process in list(self._living.values()):
            process.check()

    def tell(self, client: str, what: str, fields: Mapping[str, Any]) -> None:
        self.broker.client_says(client, what, **fields)

    def rows(self) -> list[Row]:
        """Stop producing, wait until the records have arrived (missing ones are lost), and return the whole journal."""
        self._producer.stop()
        end = time.monotonic() + self._patience
        while time.monotonic() < end and not self._all_delivered():
            time.sleep(LOOK_S)
        self.tell("runner", "drained", {"all": self._all_delivered()})
        with self._journal.changed:
            self._journal.changed.wait_for(lambda: _drained(self._journal.rows), PATIENCE_S)
            return list(self._journal.rows)

    # -- conditions to wait for

    def _newest(self) -> Generation:
        assert self._journal.group.generation is not None, "no leader was answered yet"
        return self._journal.group.generation

    def _joined(self) -> bool:
        return bool(self._journal.group.members)

    def _stable(self, members: frozenset[str]) -> bool:
        seen = self._journal.group
        return seen.state == STABLE and sorted(map(seen.processes.of, seen.members)) == sorted(members)

    def _everything_owned(self) -> bool:
        seen = self._journal.group
        if seen.generation is None:
            return self._everything_given(seen)
        last = self._newest()
        wanted = self._wanted()
        return (
            last.settled
            and wanted <= last.holders().keys()
            and all(self._holds.get(name_of(member)) == told.assigned for member, told in last.told.items())
        )

    def _everything_given(self, seen: GroupFold) -> bool:
        """Tell whether all partitions of a consumer group are assigned, and owned by their members."""
        given = frozenset(partition for each in seen.given.values() for partition in each)
        return self._wanted() <= given and all(self._holds.get(seen.processes.of(member)) == each for member, each in seen.given.items())

    def _wanted(self) -> set[Partition]:
        return {place for place in self._producer.ends if place[0] in self._topics}

    def _all_delivered(self) -> bool:
        return all(self._delivered.get(place, 0) >= end for place, end in list(self._producer.ends.items()))

    def _until(self, wanted: str, reached: Callable[[], bool]) -> None:
        end = time.monotonic() + self._patience
        with self._journal.changed:
            while not reached():
                for process in list(self._living.values()):
                    process.check()
                if time.monotonic() > end:
                    raise Missed(self._missed(wanted))
                self._journal.changed.wait(LOOK_S)

    def _missed(self, wanted: str) -> str:
        seen, last = self._journal.group, self._journal.group.generation
        held = {name_of(member): sorted(told.assigned) for member, told in last.told.items()} if last else {}
        tails = "".join(f"\n{name}: {process.tail()}" for name, process in self._living.items() if process.tail())
        holds = {name: sorted(places) for name, places in self._holds.items()}
        return (
            f"{self.protocol}: waited {self._patience:.0f} s for {wanted}: the group is {seen.state} with {sorted(seen.members)}, "
            f"told {held}, holding {holds}\n{self.broker.story(GROUP)[-STORY:]}{tails}"
        )

    # -- events

    def _heard(self, member: str, event: str, facts: dict[str, Any]) -> None:
        """Handle a member's event on the member's thread. Events after the close are ignored, because the broker that records them may
        be gone."""
        with self._hearing:
            if self._closed:
                return
            if event == "holds":
                self._holds[member] = frozenset((topic, number) for topic, number in facts["partitions"])
                # Held partitions are stored only for `settled` and get no row, because a row would claim that a consumer delivers them in
                # the middle of a rebalance.
                return
            if event == "delivered":
                place = facts["topic"], facts["partition"]
                self._delivered[place] = max(self._delivered.get(place, 0), facts["last"] + 1)
            self.tell(member, event, facts)

    def _produced(self, topic: str, partition: int, first: int, last: int) -> None:
        self.tell(PRODUCER, "produced", {"topic": topic, "partition": partition, "first": first, "last": last})

    def _connected(self, client_id: str, port: int, role: str) -> None:
        self.tell(client_id, "connection", {"client_id": client_id, "port": port, "role": role})

    def _gone(self, member: str, how: str) -> None:
        self._holds.pop(member, None)
        self.tell(member, how, {})


class _Quiet:
    """Measures for how many ms an observed value has stayed the same."""

    def __init__(self) -> None:
        self._seen: object = None
        self._since = 0.0

    def for_ms(self, seen: object) -> float:
        now = time.monotonic()
        if seen != self._seen:
            self._seen, self._since = seen, now
        return (now - self._since) * 1000


def _drained(rows: Sequence[Row]) -> bool:
    return any(row["kind"] == "client" and row["what"] == "drained" for row in reversed(rows[-200:]))
