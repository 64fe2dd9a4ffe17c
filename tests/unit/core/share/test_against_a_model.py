"""Random walks of members over a share partition, compared with a model that keeps one entry per record.

The model knows nothing of batches, runs and timers. It follows the answers, and says of each whether it was allowed: only available
records are delivered, the lowest first; a record is held by one member at most; acknowledgements are taken if and only if the member holds
all of the records; a lock ends after its time; the start and the lag follow. Deleted records are left out, because Kafka delivers some of
them (test_sessions.py has them).
"""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from share_rig import GROUP, LOCK_MS, ShareRig

from groupmock.rig.share_session import ShareSession
from groupmock_codec.acknowledge_types import ACCEPT, GAP, REJECT, RELEASE, RENEW

P0 = ("orders", 0)
LIMIT = 4
WINDOW = 100
STEPS = 150
DONE, FREE, HELD = "done", "free", "held"


class RecordModel(msgspec.Struct):
    state: str = FREE
    count: int = 0
    member: str = ""
    ends_ms: float = 0
    former: tuple[float, int] | None = None
    """When the lock at a former leader ends, and the count that is stored then, unless the next leader has read the stored state."""


class Model:
    def __init__(self) -> None:
        self.records: list[RecordModel] = []

    @property
    def start(self) -> int:
        open_ones = (offset for offset in range(len(self.records)) if self.records[offset].state != DONE)
        return next(open_ones, len(self.records))

    def deliver(self, runs: list[tuple[int, int, int]], member: str, now_ms: float) -> None:
        offsets = [offset for first, last, _ in runs for offset in range(first, last + 1)]
        assert offsets == sorted(set(offsets)), "each record is delivered once, in order"
        free = [offset for offset, each in enumerate(self.records) if each.state == FREE]
        assert not offsets or offsets[0] == free[0], "the lowest available record comes first"
        for first, last, count in runs:
            for offset in range(first, last + 1):
                record = self.records[offset]
                assert record.state == FREE, f"record {offset} is {record}"
                record.count += 1
                assert record.count == count <= LIMIT
                assert count < LIMIT or len(offsets) == 1, "a last delivery is a single record"
                record.state, record.member, record.ends_ms = HELD, member, now_ms + LOCK_MS

    def held(self, member: str) -> list[int]:
        return [offset for offset, each in enumerate(self.records) if each.state == HELD and each.member == member]

    def acknowledge(self, offset: int, kind: int, now_ms: float) -> None:
        record = self.records[offset]
        if kind == RENEW:
            record.ends_ms = now_ms + LOCK_MS
        elif kind == RELEASE:
            self.free(record)
        else:
            record.state = DONE

    def free(self, record: RecordModel, stored: bool = True) -> None:
        """Make a held record available again. If its last delivery was not stored, that does not count."""
        record.count -= 0 if stored else 1
        record.state = DONE if record.count >= LIMIT else FREE

    def expire(self, now_ms: float) -> bool:
        """End the locks whose time is over, and return whether a former leader has written that."""
        written = False
        for record in self.records:
            if record.state == HELD and record.ends_ms <= now_ms:
                self.free(record)
            if record.former is not None and record.former[0] <= now_ms:
                record.count, record.former, written = record.former[1], None, True
                self.free(record)
        return written


class Walk:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.share = ShareRig(
            nodes=2,
            partitions=1,
            share__delivery__count__limit=str(LIMIT),
            share__partition__max__record__locks=str(WINDOW),
        )
        self.model = Model()
        self.members: dict[str, ShareSession] = {}
        self.written = False
        self.lags = False
        """True if the start may lag behind, because the stored states had gaps."""

    @property
    def now_ms(self) -> float:
        return self.share.rig.now_ms

    def run(self) -> None:
        steps = [self.produce, self.fetch, self.fetch, self.fetch, self.acknowledge, self.acknowledge, self.acknowledge, self.misuse]
        rare = [self.sleep, self.close, self.move_leader]
        for _ in range(STEPS):
            self.random.choice(rare if self.random.random() < 0.15 else steps)()
            self.written |= self.model.expire(self.now_ms)
            self.compare()

    def produce(self) -> None:
        sizes = [self.random.choice([1, 2, 5, 20]) for _ in range(self.random.randint(1, 3))]
        self.share.produce(*sizes)
        self.model.records += [RecordModel() for _ in range(sum(sizes))]

    def member(self) -> ShareSession:
        name = self.random.choice(["anna", "ben", "carl"])
        if name not in self.members:
            self.members[name] = self.share.session(name, node=self.share.cluster.topics.leader_of(*P0))
        return self.members[name]

    def fetch(self) -> None:
        member = self.member()
        mode, most = self.random.choice([0, 1]), self.random.choice([1, 3, 10, 500])
        asked = [P0] if member.epoch == 0 else []
        for record in self.model.records:
            record.former = None
        runs = member.take(*asked, mode=mode, max_records=most, batch_size=self.random.choice([1, 5, 500]), max_wait_ms=0)
        readable = [offset for offset, each in enumerate(self.model.records) if each.state == FREE]
        if mode == 1:
            assert sum(last - first + 1 for first, last, _ in runs) <= most
        start = self.share.shares.partitions[GROUP, self.share.topic_id, 0].states.start
        if readable and readable[0] < start + WINDOW:
            assert runs, f"nothing was delivered, but {readable[0]} is available"
        self.model.deliver(runs, member.member_id, self.now_ms)

    def acknowledge(self) -> None:
        member = self.member()
        held = [offset for offset in self.model.held(member.member_id) if offset >= self.model.start]
        if not held or member.epoch == 0:
            return
        chosen = sorted(self.random.sample(held, self.random.randint(1, len(held))))
        kinds = [self.random.choice([ACCEPT, ACCEPT, RELEASE, REJECT, GAP, RENEW]) for _ in chosen]
        if self.random.random() < 0.5:
            kinds = [kinds[0]] * len(kinds)
        batches = [(offset, offset, kind) for offset, kind in zip(chosen, kinds, strict=True)]
        assert set(member.acknowledge({P0: batches}, renew=True).values()) == {(0, None)}
        for offset, kind in zip(chosen, kinds, strict=True):
            self.model.acknowledge(offset, kind, self.now_ms)
        self.written |= any(kind != RENEW for kind in kinds)

    def misuse(self) -> None:
        """Acknowledge a range of which the member does not hold some record."""
        member = self.member()
        if member.epoch == 0 or self.model.start >= len(self.model.records):
            return
        first = self.random.randrange(self.model.start, len(self.model.records))
        last = min(len(self.model.records) - 1, first + self.random.randint(0, 5))
        held = self.model.held(member.member_id)
        if all(offset in held for offset in range(first, last + 1)):
            return
        ((code, _),) = member.acknowledge({P0: [(first, last, ACCEPT)]}).values()
        assert code != 0

    def sleep(self) -> None:
        self.share.rig.sleep(self.random.choice([10, LOCK_MS // 2, LOCK_MS]))
        self.written |= any(each.state == HELD and each.ends_ms <= self.now_ms for each in self.model.records)

    def close(self) -> None:
        member = self.member()
        if member.epoch == 0:
            return
        hangs_up = self.random.random() < 0.5
        if hangs_up:
            member.hang_up()
        else:
            member.close()
        del self.members[member.member_id]
        for offset in self.model.held(member.member_id):
            self.written |= offset >= self.model.start
            self.model.free(self.model.records[offset])
        if hangs_up and not self.members and not self.written:
            self.forgotten()

    def move_leader(self) -> None:
        if not self.members:
            return
        leader = self.share.cluster.topics.leader_of(*P0)
        self.share.rig.command("move_leader", topic="orders", partition=0, node=3 - leader)
        self.members.clear()
        for record in self.model.records:
            if record.state == HELD:
                record.former = record.ends_ms, record.count
                self.model.free(record, stored=False)
        if not self.written:
            self.forgotten()

    def forgotten(self) -> None:
        """Forget what was delivered, because nothing of it was stored: the group begins at the log's start again."""
        for record in self.model.records:
            record.state, record.count = FREE, 0

    def compare(self) -> None:
        partition = self.share.shares.partitions.get((GROUP, self.share.topic_id, 0))
        if partition is None:
            return
        held = {each.member for each in self.model.records if each.state == HELD}
        assert partition.states.held == {name: len(self.model.held(name)) for name in held}
        start = partition.states.start
        self.lags = partition.states.gap_from >= 0 or (self.lags and start < self.model.start)
        assert start < self.model.start if self.lags and start != self.model.start else start == self.model.start


@pytest.mark.parametrize("seed", range(30))
def test_random_walks_do_what_the_model_allows(seed: int) -> None:
    Walk(seed).run()
