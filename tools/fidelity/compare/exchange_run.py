"""Play the seeds of a family on a broker, many at a time, and compare the answers with the core's. What differs counts if it repeats
three times."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, TextIO

import msgspec

from groupmock_clients.probe.stages.contract import TimeUp
from groupmock_clients.probe.stages.tcp_broker import TcpBroker

from ..families import family
from ..generated.exchange_text import as_text
from ..generated.memory import missing_topics
from ..generated.script import Script, ending
from ..generated.settings_classes import BROKERS, known
from ..guided.alone import Alone, moves_coordinators
from ..guided.guided_player import Noisy, Played, play
from ..guided.leftovers import Leftovers
from ..guided.peer import Peer
from .canonical import Difference, compare, kind_of
from .counts import Counts, FamilyResult
from .golden import Golden, difference_of, golden_of
from .recorded_differences import asked_before, known_as
from .shrink import shrink

REPEATS: Final = 3
CHANCES: Final = 8
BY_IDS: Final = ("leader", "members", "partition_index", "group_id", "name")
"""Fields whose position in a list, or whose value, depends on ids that the broker draws."""
NOISY_LIMIT: Final = 5
NEAR_MS: Final = 100.0
"""The time after a request within which an answer counts as given at once."""
REST_S: Final = 0.2
"""The pause after a play that was too noisy to mean anything, in seconds."""
SLOW_MS: Final = 150.0
"""A play that differs is repeated if one of the broker's answers came at least this late."""


class ComparisonRequest(msgspec.Struct):
    """The parameters of a comparison of the core with a broker. `seeds`: from, to (exclusive); `seconds`: stop after so long, whatever
    the seeds."""

    family: str
    release: str
    seeds: tuple[int, int]
    parallel: int = 40
    seconds: float | None = None
    shrink: bool = False
    keep: bool = False


class ExchangeRun:
    """A comparison of many seeds with one broker."""

    def __init__(self, peer: Peer, wanted: ComparisonRequest, out: TextIO) -> None:
        self.peer, self.wanted, self.out = peer, wanted, out
        self.counts = Counts()
        self._generate = family(wanted.family)
        self._alone = Alone(wanted.release)
        self._leftovers: Leftovers | None = None
        self._one_at_a_time = threading.Lock()
        """Held by the thread that updates the counts or makes the next script."""
        self._stopped = False
        self._begun = time.monotonic()
        self._last = wanted.seeds[0]
        self.golden: list[Golden] = []
        """The plays to keep for the golden corpus, if `wanted.keep`."""
        self.different: dict[tuple[int | None, str], Golden] = {}
        """Maps API and field to a play that differs in that field also when it is replayed, shrunk if `wanted.shrink`."""

    def all(self) -> FamilyResult:
        """Play the exchange of every seed and compare the answers. Raises NoBroker."""
        self._begun = time.monotonic()
        broker = self.peer.broker
        with Leftovers(TcpBroker(broker.host, broker.port, broker.release), self._alone) as self._leftovers:
            scripts = self._scripts()
            with ThreadPoolExecutor(self.wanted.parallel) as pool:
                workers = [pool.submit(self._worker, scripts) for _ in range(self.wanted.parallel)]
                try:
                    for worker in as_completed(workers):
                        worker.result()
                finally:
                    self._stopped = True
        return self.result()

    def _scripts(self) -> Iterator[Script]:
        for seed in range(*self.wanted.seeds):
            if self.wanted.seconds is not None and time.monotonic() - self._begun > self.wanted.seconds:
                return
            self._last = seed + 1
            script = self._generate(seed, self.wanted.release)
            if script.settings == self.peer.settings:
                yield script

    def _worker(self, scripts: Iterator[Script]) -> None:
        while not self._stopped:
            with self._one_at_a_time:
                script = next(scripts, None)
            if script is None:
                return
            self.one(script)

    def one(self, script: Script) -> list[Difference]:
        """Play one script, and return its differences that are neither recorded nor unstable."""
        played, found = self._play(script)
        if played is None:
            self.counts.unstable.append(script.seed)
            return []
        versions = known(script.release, script.settings).versions
        with self._one_at_a_time:
            self.counts.played((*script.steps, *ending(script, versions)), played.real.events, played.states)
        new = self._unrecorded(script, played, found)
        if not new:
            if self.wanted.keep and not found and (golden := golden_of(script, played)) is not None:
                self.golden.append(golden)
            return []
        if not self._repeats(script, new[0]):
            self.counts.unstable.append(script.seed)
            self._say(f"unstable: seed {script.seed}: {_short(new[0])}")
            return []
        self.counts.differs(new[0])
        self._say(f"DIFFERS: seed {script.seed}: {_short(new[0])}")
        small = self._shrink(script, new[0]) if self.wanted.shrink else None
        for one in (small, (script, played)):
            if one is not None and (golden := difference_of(*one)) is not None:
                self.different.setdefault((new[0].key, new[0].path), golden)
                break
        return new

    def _repeats(self, script: Script, first: Difference) -> bool:
        """Tell whether the difference appears in every repetition. Orders and leaders follow from the ids that a broker draws: for those
        once more is enough."""
        by_ids = any(name in first.path for name in BY_IDS)
        for _ in range(CHANCES if by_ids else REPEATS - 1):
            with self._one_at_a_time:
                self.counts.replayed += 1
            again = self._unrecorded(script, *self._play(script))
            if by_ids and again and (again[0].step, again[0].path) == (first.step, first.path):
                return True
            if not by_ids and not again:
                return False
        return not by_ids

    def _play(self, script: Script) -> tuple[Played | None, list[Difference]]:
        """Play a script until the result is meaningful, and return the play with its differences, or None if every attempt was too
        noisy."""
        for _ in range(NOISY_LIMIT):
            try:
                with self._alone.turn(script):
                    try:
                        played = play(script, self.peer)
                    finally:
                        if moves_coordinators(script):
                            self.peer.lead_groups()
            except (Noisy, TimeUp) as why:
                self._noisy()
                if isinstance(why, TimeUp):
                    self._say(f"too long: seed {script.seed}")
                time.sleep(REST_S)
                continue
            if self._leftovers is not None:
                facts = played.real.facts
                topics = [fact.name for need, fact in zip(script.topics, facts.topics, strict=True) if need.own]
                topics += [name for name in missing_topics(facts) if script.family in ("regexes", "streams")]
                self._leftovers.add(facts.groups if script.groups else [], topics)
            found = compare(script, played.real, played.core)
            if not found or (played.lag < SLOW_MS and not played.crowded):
                return played, found
            self._noisy()
        return None, []

    def _noisy(self) -> None:
        with self._one_at_a_time:
            self.counts.noisy += 1

    def _unrecorded(self, script: Script, played: Played | None, found: list[Difference]) -> list[Difference]:
        new = []
        for difference in found:
            before = asked_before(script, played.real, difference.step) if played is not None else []
            one = known_as(script.family, script.release, difference, before)
            if one is None:
                new.append(difference)
                continue
            with self._one_at_a_time:
                self.counts.recorded[one.id] += 1
            if one.breaks_connection:
                break
        return new

    def _shrink(self, script: Script, first: Difference) -> tuple[Script, Played] | None:
        """Return the shortest script that shows the same kind of difference, and how it was played."""

        def differs(smaller: Script) -> bool:
            return kind_of(first) in map(kind_of, self._unrecorded(smaller, *self._play(smaller)))

        small = shrink(script, differs)
        played, found = self._play(small)
        if played is not None:
            self._say(as_text(small, played.real, near_ms=NEAR_MS) + "\n".join(f"  {each}" for each in found[:3]))
        return None if played is None else (small, played)

    def _say(self, text: str) -> None:
        print(text, file=self.out, flush=True)  # This print is the program's output and no debugging aid.

    def result(self) -> FamilyResult:
        seconds, counts = time.monotonic() - self._begun, self.counts
        share = {state: round(count / max(counts.exchanges, 1), 4) for state, count in sorted(counts.states.items())}
        return FamilyResult(
            family=self.wanted.family, release=self.wanted.release, broker=BROKERS[self.wanted.release], settings=str(self.peer.settings),
            seeds=(self.wanted.seeds[0], self._last), exchanges=counts.exchanges, requests=counts.requests(), seconds=round(seconds, 1),
            per_second=round(counts.exchanges / seconds, 1), apis=counts.apis(), outcomes=counts.outcomes(), states=share,
            differences=counts.differences, unstable=counts.unstable, recorded=dict(counts.recorded), noisy=counts.noisy,
            replayed=counts.replayed,
        )  # fmt: skip


def _short(difference: Difference) -> str:
    text = str(difference)
    return text if len(text) < 400 else text[:400] + "..."
