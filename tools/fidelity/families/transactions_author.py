"""Write scripts about transactions with producers of old and new clients, and track each producer's id, epoch and sequences.

Each step is played on the core while it is written, so that most transactions get somewhere before they are disturbed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from groupmock.core.transactions.transactional_id import TransactionalId
from groupmock_clients.probe.language.exchange import Pause, Send
from groupmock_codec.records import next_sequence

from ..generated.script import Json, Script, client_of, ms_of, pause, request, told, transactional_id
from ..generated.transcript import PARKED, imagined
from ..guided.core_player import STEP_MS, CorePlayer

Place = tuple[int, int]
"""A partition as the number of its topic and its index."""
SPOILT: Final = 0.05
"""The share of requests that name another producer on purpose."""
MIXED: Final = 0.12
"""The share of a client's requests whose version only the other kind of client would use (before or since KIP-890)."""
NEW_SINCE: Final = {0: 12, 26: 5, 28: 5}
"""Maps an API to the first version that only new clients (KIP-890) use."""
NOBODY: Final = 9
"""The number of a transactional id that no producer uses."""
FAR: Final = 1_000_000


@dataclass
class Producer:
    """A producer process of a script. `number` identifies its transactional id, None if it is only idempotent. `new` says that it is a
    client of KIP-890."""

    name: str
    number: int | None
    new: bool
    timeout_ms: int
    holder: tuple[int, int] | None = None
    """The producer id and epoch that the producer process got last."""
    sequences: dict[Place, int] = field(default_factory=dict)
    """The next sequence number of each partition."""
    last: dict[Place, tuple[int, list[str]]] = field(default_factory=dict)
    """The last batch of each partition as its sequence number and records."""

    @property
    def id(self) -> Json:
        return None if self.number is None else transactional_id(self.number)


class TransactionsAuthor:
    """Writes a script about transactions while the core plays it. `member` is the client that is a member of the first group."""

    member = "A"

    def __init__(self, script: Script, rng: Random, producers: list[Producer]) -> None:
        self.script, self.rng, self.producers = script, rng, producers
        self.player = CorePlayer(script, imagined(script))
        self.versions = self.player.known.versions
        self.now = 0.0

    # -- looking

    def transaction(self, producer: Producer) -> TransactionalId | None:
        """Return the core's state of the producer's transactional id."""
        name = f"{self.player.facts.groups[0]}-x{producer.number}"
        return self.player.core.cluster.transactions.find(name)

    def is_added(self, producer: Producer, place: Place) -> bool:
        """Tell whether the producer's open transaction contains the partition."""
        known = self.transaction(producer)
        return known is not None and (self.player.facts.topics[place[0] - 1].name, place[1]) in known.partitions

    def is_fenced(self, producer: Producer) -> bool:
        """Tell whether a newer epoch has fenced the producer."""
        known = self.transaction(producer)
        return known is not None and producer.holder != (known.producer_id, known.epoch)

    def end_of(self, place: Place) -> int:
        """Return the log end offset of a partition."""
        partition = self.player.core.cluster.topics.find(self.player.facts.topics[place[0] - 1].name, place[1])
        return 0 if partition is None else partition.end

    def place(self) -> Place:
        """Return an existing partition at random."""
        number = self.rng.randint(1, len(self.script.topics))
        return number, self.rng.randrange(self.script.topics[number - 1].partitions)

    def waits(self, client: str) -> bool:
        """Tell whether the client has an unanswered request."""
        steps = zip(self.script.steps, self.player.events, strict=True)
        return any(isinstance(step, Send) and client_of(step) == client and event.status == PARKED for step, event in steps)

    def version(self, key: int, lowest: int = 0) -> int:
        """Return a random version of an API, at least `lowest` if the release has it."""
        low, high = self.versions[key]
        return self.rng.randint(min(max(low, lowest), high), high)

    def version_of(self, producer: Producer, key: int, lowest: int = 0) -> int:
        """Return a version of an API, mostly one that the producer's kind of client uses."""
        (low, high), new = self.versions[key], NEW_SINCE[key]
        if producer.new != (self.rng.random() < MIXED):
            return self.rng.randint(new, high) if high >= new else high
        return self.rng.randint(max(low, lowest), min(high, new - 1))

    def membership(self) -> dict[str, Json]:
        """Return the fields by which a TxnOffsetCommit names a member of the first group (KIP-447)."""
        return {"generation_id": told(self.member, "generation"), "member_id": told(self.member, "member_id")}

    # -- writing

    def send(self, client: str, key: int, version: int, fields: dict[str, Json]) -> dict[str, Json] | None:
        """Send one request and return the core's answer."""
        return self.write(request(client, key, version, fields))

    def wait(self, ms: int) -> None:
        self.write(pause(ms))

    def write(self, step: Send | Pause) -> dict[str, Json] | None:
        self.now += ms_of(step) if isinstance(step, Pause) else STEP_MS
        self.script.steps.append(step)
        event = self.player.play(step, self.now)
        for producer in self.producers:
            self._look(producer)
        return event.answer

    def _look(self, producer: Producer) -> None:
        """Restart the sequence numbers if the producer got another id or epoch with the last answer."""
        known = self.player.memory.of(producer.name)
        holder = None if known.producer_id is None or known.producer_epoch is None else (known.producer_id, known.producer_epoch)
        if holder != producer.holder:
            producer.holder = holder
            producer.sequences.clear()
            producer.last.clear()

    def wrote(self, producer: Producer, place: Place, sequence: int, records: list[str]) -> None:
        """Record an accepted batch, so that the next sequence number follows from it."""
        producer.sequences[place] = next_sequence(sequence, len(records))
        producer.last[place] = sequence, records

    def holder(self, producer: Producer, spoilt: float = SPOILT) -> dict[str, Json]:
        """Return the producer's id and epoch, sometimes altered."""
        found: dict[str, Json] = {name: told(producer.name, name) for name in ("producer_id", "producer_epoch")}
        if self.rng.random() < spoilt:
            name, plus = self.rng.choice((("producer_id", FAR), ("producer_epoch", 1), ("producer_epoch", -1), ("producer_epoch", 3)))
            found[name] = told(producer.name, name, plus)
        return found

    def named(self, producer: Producer) -> Json:
        """Return the producer's transactional id, sometimes another one or an empty one."""
        if self.rng.random() < SPOILT:
            return self.rng.choice((transactional_id(NOBODY), transactional_id(1), transactional_id(2), ""))
        return producer.id if producer.number is not None else transactional_id(NOBODY)
