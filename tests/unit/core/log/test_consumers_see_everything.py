"""Random consumers neither miss nor repeat a record, with random producers, shrinking logs, fetch sessions and limits."""

from __future__ import annotations

import random

from cases import for_each
from log_world import LogWorld, batch, fetch_request

from groupmock_codec.messages.k01_fetch import FetchResponse
from groupmock_codec.records import RecordsError, decode_records, read_batches

PARTITIONS = 4


class Follower:
    """A consumer of all partitions of a node that sends full and incremental fetches with random limits and waits."""

    def __init__(self, world: LogWorld, dice: random.Random, connection: int, version: int) -> None:
        self.world, self.dice, self.connection, self.version = world, dice, connection, version
        self.offsets = dict.fromkeys(range(PARTITIONS), 0)
        self.seen: dict[int, list[int]] = {index: [] for index in range(PARTITIONS)}
        self.session, self.epoch = 0, 0
        self.told: dict[int, int] = {}
        self.ticket = 0

    def ask(self) -> None:
        """Send the next fetch, which has only the changed partitions if a session exists."""
        wanted = {index: offset for index, offset in self.offsets.items() if self.told.get(index) != offset}
        self.told.update(wanted)
        request = fetch_request(
            *(("t", index, offset) for index, offset in wanted.items()),
            version=self.version,
            world=self.world,
            partition={"partition_max_bytes": self.dice.choice((0, 50, 200, 1 << 20))},
            session_id=self.session,
            session_epoch=self.epoch,
            max_bytes=self.dice.choice((0, 100, 500, 1 << 20)),
            min_bytes=self.dice.choice((0, 1, 300)),
            max_wait_ms=self.dice.choice((0, 50)),
        )
        self.ticket = self.world.send(1, self.version, request, connection=self.connection)

    def take(self) -> None:
        """Read the answer if it has arrived."""
        answer = self.world.answers.get(self.ticket)
        if answer is None:
            return
        self.ticket = 0
        assert answer.error_code in ((0, 70) if self.epoch else (0,))
        self.epoch = self.epoch + 1 if answer.session_id else 0
        self.session = answer.session_id
        # The consumer starts a new Fetch session with all partitions if it has none, and now and then even if it has one.
        if not self.epoch or self.dice.random() < 0.05:
            self.epoch, self.told = 0, {}
        self.read(answer)

    def read(self, answer: FetchResponse) -> None:
        """Process the complete batches of the answer."""
        for topic in answer.responses:
            for found in topic.partitions:
                index = found.partition_index
                if found.error_code == 1:
                    self.offsets[index] = self.world.topics.require_partition("t", index).start
                    continue
                assert found.error_code == 0
                for record in whole_records(found.records or b""):
                    if record >= self.offsets[index]:
                        self.seen[index].append(record)
                        self.offsets[index] = record + 1


def whole_records(data: bytes) -> list[int]:
    """Return the offsets of the records in complete batches."""
    while data:
        try:
            return [record.offset for stored in read_batches(data) for record in decode_records(stored)]
        except RecordsError:  # The last batch of an answer may be incomplete.
            sizes, at = [], 0
            while at + 12 <= len(data) and at + 12 + int.from_bytes(data[at + 8 : at + 12]) <= len(data):
                at += 12 + int.from_bytes(data[at + 8 : at + 12])
                sizes.append(at)
            data = data[: sizes[-1]] if sizes else b""
    return []


@for_each("seed", range(20))
def test_every_record_once_and_in_order(seed: int) -> None:
    dice = random.Random(seed)
    world = LogWorld(seed=seed, max_incremental_fetch_session_cache_slots=dice.choice((0, 2, 1000)))
    world.topic("t", partitions=PARTITIONS)
    followers = [Follower(world, dice, connection, dice.choice((7, 11, 12, 13, 18))) for connection in range(1, 4)]
    for _ in range(120):
        what = dice.random()
        if what < 0.4:
            world.append(batch(*[bytes(dice.choice((1, 40, 300)))] * dice.randint(1, 4)), partition=dice.randrange(PARTITIONS))
        elif what < 0.9:
            follower = dice.choice(followers)
            follower.take() if follower.ticket else follower.ask()
        else:
            world.sleep(dice.randint(1, 60))
    ends = {index: world.topics.require_partition("t", index).end for index in range(PARTITIONS)}
    for follower in followers:
        for _ in range(400):
            if follower.offsets == ends and not follower.ticket:
                break
            if not follower.ticket:
                follower.ask()
            world.sleep(60)
            follower.take()
        assert follower.seen == {index: list(range(end)) for index, end in ends.items()}, seed
    assert len(world.topics.fetches) == 0


@for_each("seed", range(10))
def test_offsets_only_jump_where_records_were_deleted(seed: int) -> None:
    dice = random.Random(seed)
    world = LogWorld(seed=seed, log_retention_bytes=1500)
    world.topic("t", partitions=PARTITIONS)
    follower = Follower(world, dice, 1, 12)
    for _ in range(400):
        if dice.random() < 0.5:
            world.append(batch(*[bytes(100)] * dice.randint(1, 3)), partition=dice.randrange(PARTITIONS))
        elif not follower.ticket:
            follower.ask()
        else:
            world.sleep(dice.choice((0, 60)))
            follower.take()
    for index, seen in follower.seen.items():
        assert seen == sorted(set(seen)), seed
        kept = world.topics.require_partition("t", index)
        assert kept.size <= 1500 + 400 and all(offset < kept.end for offset in seen), seed
