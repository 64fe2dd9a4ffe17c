"""Each judge of the simulation finds the mistake planted for it in the core or driver, within a few seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import pytest

from groupmock.core.core import Core
from groupmock.core.dice import Dice
from groupmock.core.effects import Reply
from groupmock.core.groups import reconciling
from groupmock.core.groups.classic.group import Group
from groupmock.core.groups.classic.states import ANSWERS, PREPARING, Answer, Do, Question
from groupmock.core.groups.consumer import reconciliation
from groupmock.core.groups.consumer.type import ConsumerGroup
from groupmock.core.groups.offsets.committed import CommittedOffsets, Offset
from groupmock.core.groups.streams import reconciliation as streams_reconciliation
from groupmock.core.groups.streams.membership import DELAY
from groupmock.core.groups.streams.type import StreamsGroup
from groupmock.core.log.partition import Partition
from groupmock.core.log.topics import Topics
from groupmock.core.log.transactions import Marker
from groupmock.core.share import acknowledging
from groupmock.core.share.acknowledging import Acknowledged, AcknowledgedBatch, Acknowledging
from groupmock.core.share.acquiring import Acquiring
from groupmock.core.share.rules import RecordRules
from groupmock.core.share.runs import ACQUIRED, AVAILABLE
from groupmock.core.share.share_partition import Freed, SharePartition
from groupmock.core.share.shares import Shares
from groupmock.core.transactions.coordinator import TransactionCoordinator
from groupmock.core.transactions.markers import Markers
from groupmock.core.turn import Turn
from groupmock.net import driver
from groupmock.net.codecs import ApiCodec
from groupmock.net.turns import Turns
from groupmock_clients.simulation.find import as_find, made_small, write
from groupmock_clients.simulation.judges.findings import Finding
from groupmock_clients.simulation.simulate import Outcome, simulate
from groupmock_codec.api_keys import FETCH

SEEDS = 60
Plant = Callable[[pytest.MonkeyPatch], None]


def first(kind: str, planted: Plant, monkeypatch: pytest.MonkeyPatch, seeds: range = range(SEEDS)) -> Outcome:
    with monkeypatch.context() as patched:
        planted(patched)
        for seed in seeds:
            outcome = simulate(seed, kind)
            if outcome.finding is not None:
                return outcome
    raise AssertionError(f"none of the {len(seeds)} seeds found it")


def finding(kind: str, planted: Plant, monkeypatch: pytest.MonkeyPatch) -> Finding:
    found = first(kind, planted, monkeypatch).finding
    assert found is not None
    return found


def heartbeats_say_all_is_well(patched: pytest.MonkeyPatch) -> None:
    patched.setitem(ANSWERS, (PREPARING, Question.HEARTBEAT), Answer(Do.ANSWER, 0, True))


def generations_skip_one(patched: pytest.MonkeyPatch) -> None:
    def next_generation(self: Group) -> None:
        self.generation += 2
        self.end_leases()

    patched.setattr(Group, "next_generation", next_generation)


def leader_is_forgotten(patched: pytest.MonkeyPatch) -> None:
    lead = Group.lead
    patched.setattr(Group, "lead", lambda self, member: lead(self, None))


def commits_are_one_too_far(patched: pytest.MonkeyPatch) -> None:
    put = CommittedOffsets.__setitem__

    def further(self: CommittedOffsets, at: Any, offset: Offset) -> None:
        put(self, at, Offset(offset.offset + 1, offset.leader_epoch, offset.metadata, offset.commit_ms, offset.expire_ms))

    patched.setattr(CommittedOffsets, "__setitem__", further)


def reads_begin_one_batch_later(patched: pytest.MonkeyPatch) -> None:
    read = Partition.read

    def further(self: Partition, offset: int, *how: Any, **limits: Any) -> bytes:
        return read(self, offset + 1 if 0 < offset < self.end - 1 else offset, *how, **limits)

    patched.setattr(Partition, "read", further)


def answers_carry_another_number(patched: pytest.MonkeyPatch) -> None:
    answer = ApiCodec.answer
    patched.setattr(ApiCodec, "answer", lambda self, correlation, message: answer(self, correlation[:3] + b"\x07", message))


def replies_are_given_twice(patched: pytest.MonkeyPatch) -> None:
    def reply(self: Turn, ticket: int, message: Any, lease: Any = None) -> None:
        self.out.extend([Reply(ticket, message, lease)] * (2 if self.now > 10**9 else 1))

    patched.setattr(Turn, "reply", reply)


def chance_is_not_the_seeds(patched: pytest.MonkeyPatch) -> None:
    drawn = iter(range(10**9))
    patched.setattr(Dice, "uuid_text", lambda self: f"00000000-0000-4000-8000-{next(drawn):012d}")


def a_request_works_for_ever(patched: pytest.MonkeyPatch) -> None:
    handle = Core.handle

    def slow(self: Core, event: Any, now: int) -> Any:
        if getattr(event, "client_id", "") == "stranger":
            for _ in range(10**9):
                self.deadline()
        return handle(self, event, now)

    patched.setattr(Core, "handle", slow)


def a_request_keeps_too_much(patched: pytest.MonkeyPatch) -> None:
    handle, kept = Core.handle, []

    def fat(self: Core, event: Any, now: int) -> Any:
        if getattr(event, "client_id", "") == "stranger":
            kept.append([object() for _ in range(500_000)])
        return handle(self, event, now)

    patched.setattr(Core, "handle", fat)


def nobody_has_to_wait(patched: pytest.MonkeyPatch) -> None:
    def all_at_once(self: Turns[Any]) -> Iterator[Any]:
        while self.waiting:
            yield self.waiting.popleft()

    patched.setattr(Turns, "due", all_at_once)


def never(name: str, patched: pytest.MonkeyPatch) -> None:
    expire = Core.expire

    def forgetful(self: Core, now: int) -> Any:
        for key in self.environment.timers.armed(name):
            timer = self.environment.timers.get(key)
            if timer is not None and timer.deadline <= now:
                timer.deadline = now + 10**15
        return expire(self, now)

    patched.setattr(Core, "expire", forgetful)


def sessions_never_end(patched: pytest.MonkeyPatch) -> None:
    never("session", patched)


def join_phases_never_end(patched: pytest.MonkeyPatch) -> None:
    never("join", patched)


def the_core_stumbles(patched: pytest.MonkeyPatch) -> None:
    def fails(self: Group) -> bool:
        raise KeyError("member")

    patched.setattr(Group, "everybody_joined", fails)


def partitions_are_given_up_by_saying_nothing(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(reconciliation, "_still_owns", lambda owned, lost: False)


def epochs_of_members_are_not_looked_at(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(reconciling, "_check_epoch", lambda kind, member, said, owns_no_more: None)


def topics_that_come_are_not_noticed(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(ConsumerGroup, "topic_changed", lambda self, turn, topic: None)


def tasks_are_given_up_by_saying_nothing(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(streams_reconciliation, "still_owns", lambda owned, lost: False)


def tasks_of_others_are_free(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(streams_reconciliation._Step, "_is_active_blocked", lambda self, task: False)


def initial_delays_never_end(patched: pytest.MonkeyPatch) -> None:
    never(DELAY, patched)


def source_topics_that_come_are_not_noticed(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(StreamsGroup, "topic_changed", lambda self, turn, topic: None)


def fenced_producers_are_served(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(TransactionCoordinator, "_fenced", lambda self, turn, known, by, client_id: 0)


def aborts_are_marked_as_commits(patched: pytest.MonkeyPatch) -> None:
    mark = Topics.mark

    def commits(self: Topics, turn: Turn, topic: Any, partition: Partition, marker: Marker) -> Any:
        return mark(self, turn, topic, partition, marker._replace(committed=True))

    patched.setattr(Topics, "mark", commits)


def markers_are_owed_for_ever(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Markers, "settle", lambda self, turn: None)


def locks_never_end(patched: pytest.MonkeyPatch) -> None:
    never("record_lock", patched)


def locks_end_early(patched: pytest.MonkeyPatch) -> None:
    expire = SharePartition.expire

    def early(self: SharePartition, turn: Turn, rules: RecordRules) -> Freed:
        later = copy(turn)
        later.now += 10**9
        return expire(self, later, rules)

    patched.setattr(SharePartition, "expire", early)


def deliveries_have_no_limit(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(RecordRules, "released", lambda self, run: run.now(AVAILABLE, run.count))


def deliveries_are_not_counted(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Acquiring, "_acquired", lambda self, run: run.now(ACQUIRED, max(1, run.count), self._member_id, self._lock_ends))


def accepted_records_come_again(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(acknowledging, "ACKNOWLEDGED", AVAILABLE)


def anybody_may_acknowledge(patched: pytest.MonkeyPatch) -> None:
    take = Acknowledging.take

    def as_owner(self: Acknowledging, batches: Sequence[AcknowledgedBatch]) -> Acknowledged:
        runs = (run for batch in self._states.batches for run in batch.runs)
        self._member_id = next((run.member_id for run in runs if run.state == ACQUIRED), self._member_id)
        return take(self, batches)

    patched.setattr(Acknowledging, "take", as_owner)


def sessions_outlive_connections(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Shares, "disconnected", lambda self, turn, connection: self.fetches.disconnected(connection))


def tickets_of_share_fetches_are_kept(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(driver, "SHARE_FETCH", FETCH)


PLANTED = [
    ("groups", heartbeats_say_all_is_well, "groups", "was answered 0, not 27"),
    ("groups", generations_skip_one, "groups", "in generation 2, not 1"),
    ("groups", leader_is_forgotten, "invariants", "members have a leader"),
    ("groups", commits_are_one_too_far, "history", "and reads"),
    ("groups", reads_begin_one_batch_later, "history", "was next"),
    ("groups", answers_carry_another_number, "answers", "correlation id"),
    ("groups", replies_are_given_twice, "answers", "nobody waits for it"),
    ("groups", chance_is_not_the_seeds, "replay", "differs"),
    ("hostile", a_request_works_for_ever, "budgets", "calls"),
    ("hostile", a_request_keeps_too_much, "budgets", "objects kept"),
    ("hostile", nobody_has_to_wait, "turns", "in one turn"),
    ("groups", sessions_never_end, "leaks", "nobody is there"),
    ("groups", join_phases_never_end, "liveness", "of peace group 'g0' is PreparingRebalance"),
    ("groups", the_core_stumbles, "defect", "KeyError"),
    ("consumers", partitions_are_given_up_by_saying_nothing, "consumer groups", "has it"),
    ("consumers", epochs_of_members_are_not_looked_at, "consumer groups", "not 110"),
    ("consumers", topics_that_come_are_not_noticed, "liveness", "of peace"),
    ("streams", tasks_are_given_up_by_saying_nothing, "streams groups", "has it"),
    ("streams", tasks_of_others_are_free, "streams groups", "has it"),
    ("streams", epochs_of_members_are_not_looked_at, "streams groups", "not 110"),
    ("streams", initial_delays_never_end, "liveness", "of peace"),
    ("streams", source_topics_that_come_are_not_noticed, "invariants", "topics are taken down as they are"),
    ("shares", locks_never_end, "liveness", "of peace"),
    ("shares", locks_end_early, "share groups", "ms early"),
    ("shares", deliveries_have_no_limit, "share groups", "and the limit is"),
    ("shares", deliveries_are_not_counted, "share groups", "has delivery count 1 after 1"),
    ("shares", accepted_records_come_again, "share groups", "after it was done"),
    ("shares", anybody_may_acknowledge, "share groups", "the records"),
    ("shares", sessions_outlive_connections, "leaks", "share sessions are open"),
    ("shares", tickets_of_share_fetches_are_kept, "leaks", "requests are open and nobody is there: ShareFetch"),
    ("transactions", fenced_producers_are_served, "transactions", "is answered 0"),
    ("transactions", aborts_are_marked_as_commits, "transactions", "its transaction did not commit"),
    ("transactions", markers_are_owed_for_ever, "liveness", "of peace"),
]


@pytest.mark.parametrize(("kind", "planted", "judge", "says"), PLANTED, ids=[f"{each[0]}-{each[1].__name__}" for each in PLANTED])
def test_a_planted_mistake_is_found(kind: str, planted: Plant, judge: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = finding(kind, planted, monkeypatch)
    assert found.judge == judge and says in found.text, found


def test_a_find_is_small_and_tells_its_story(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        heartbeats_say_all_is_well(patched)
        # The simulation of this seed has only 38 steps, so it takes a fifth of the first seed's time.
        outcome = first("mixed", heartbeats_say_all_is_well, monkeypatch, range(10, 11))
        small = made_small(outcome)
        find = as_find(small, {"date": "2026-11-23"})
    assert small.finding is not None and small.finding.judge == "groups"
    assert len(small.plan.steps) <= 8 < len(outcome.plan.steps)
    assert small.story and find["failure"].startswith("groups: ")
    file = write(tmp_path, find)
    assert write(tmp_path, find) == file and len(list(tmp_path.iterdir())) == 1
