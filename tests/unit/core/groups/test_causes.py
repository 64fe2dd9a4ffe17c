"""Every change of a group or member has a cause from a fixed set, and each cause of the set occurs."""

from __future__ import annotations

import inspect

from cases import for_each
from core_world import World

from groupmock.core.effects import MemberChanged, Moved
from groupmock.core.groups import causes
from groupmock.core.groups.causes import CAUSES, Why


def told(world: World) -> list[tuple[str, str, str]]:
    """Return the kind of change or the new state, the cause and the reason of every change so far."""
    changes = [one for one in world.effects if isinstance(one, Moved | MemberChanged)]
    return [(one.after if isinstance(one, Moved) else one.what, one.cause, one.reason) for one in changes]


def life() -> World:
    """Play a group with many events: joins, a returning instance, a leave, silence, an expired session, and the end."""
    world = World.make()
    leader, follower = world.stable(2)
    world.join(instance="i")
    world.join(leader)
    world.join(follower)
    world.join(instance="i")
    world.sync(leader, assignments={}, version=4)
    world.join(leader, reason="again")
    world.sleep(61_000)
    world.leave(leader)
    world.sleep(1_000_000)
    return world


def test_each_change_has_a_word_of_the_set() -> None:
    found = told(life())
    assert {cause for _, cause, _ in found} <= set(CAUSES)
    assert ("CompletingRebalance", "initial_delay_over", "the initial delay is over") in found
    assert {("added", "member_joined"), ("led", "first_member"), ("replaced", "instance_returned")} <= {each[:2] for each in found}
    assert {("removed", "session_expired"), ("Empty", "no_members_left"), ("Dead", "nothing_left")} <= {each[:2] for each in found}


def test_who_leaves_by_its_instance_id_was_removed() -> None:
    world = World.make()
    first = world.join(instance="i")
    world.finish_phase()
    world.leave(("", "i"))
    by_instance = [(what, cause) for what, cause, _ in told(world) if cause == "instance_removed"]
    assert by_instance == [("removed", "instance_removed"), ("PreparingRebalance", "instance_removed")]
    assert first.answer.error_code == 0


def _whys() -> dict[str, Why]:
    """Return every cause with its sentence, whose placeholders are filled with arbitrary values."""
    found = {name: value for name, value in vars(causes).items() if isinstance(value, Why)}
    some = causes.forced("because")
    blanks = {"why": some, "gone": [("a", None, None)], "member_ids": ["a", "b", "c", "d", "e"]}
    for name, make in inspect.getmembers(causes, inspect.isfunction):
        if not name.startswith("_") and inspect.signature(make).return_annotation == "Why":
            found[name] = make(*(blanks.get(each, each) for each in inspect.signature(make).parameters))
    return found


def test_each_word_has_a_sentence() -> None:
    assert set(CAUSES) == {why.cause for why in _whys().values()}


@for_each(("why", "sentence"), [
    ("sync_overdue", "a, b, c and 2 more sent no SyncGroup within timeout_ms ms"),
    ("member_silent", "member member_id did not join again: because"),
    ("leads", "member member_id leads: because"),
    ("member_left", "member member_id left: reason"),
    ("session_expired", "session of member_id expired before its first answer"),
])  # fmt: skip
def test_sentences(why: str, sentence: str) -> None:
    assert _whys()[why].sentence == sentence
