"""Journals of rare events, written by hand. Times are ns; each docstring says what the journal shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from journal_pen import Pen

JOINED: Final = "member m1 joined"
BOTH: Final = {"m1": [0, 1], "m2": [2, 3]}
SWAPPED: Final = {"m1": [2, 3], "m2": [0, 1]}


def overlapping() -> Pen:
    """A rebalance of the group `tea` surrounds a complete rebalance of `coffee`."""
    pen = Pen()
    pen.at(100).moved("tea", "", "Empty", 0, "client 'm1' sent the first JoinGroup")
    pen.moved("tea", "Empty", "PreparingRebalance", 0, JOINED, 1, "m1")
    ticket = pen.join("tea", "m1", 1, "m1")
    pen.at(200).round("coffee", 1, {"m8": [0], "m9": [1]}, "member m8 joined", "Empty")
    pen.at(300).moved("tea", "PreparingRebalance", "CompletingRebalance", 1, "the initial delay is over", 1, "m1")
    pen.joined(ticket, "m1", 1, "m1", {"m1": []})
    sync = pen.at(350).sync("tea", "m1", 1, 1, {"m1": [0]})
    pen.moved("tea", "CompletingRebalance", "Stable", 1, "leader m1 brought the assignments", 1, "m1")
    pen.synced(sync, [0])
    return pen


def dies() -> Pen:
    """A group is unloaded during its join phase, and a new group of the same name starts with generation 1. The job compares its
    assignment with the former group's."""
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(500).moved("tea", "Stable", "PreparingRebalance", 1, "member m2 left", 1, "m1")
    pen.at(600).moved("tea", "PreparingRebalance", "Dead", 1, "partition 3 of __consumer_offsets left node 1")
    pen.at(700).moved("tea", "", "Empty", 0, "client 'm1' sent the first JoinGroup")
    pen.at(1000).round("tea", 1, SWAPPED, JOINED, "Empty")
    return pen


def cut() -> Pen:
    """The journal ends during the join phase of `tea` and the sync phase of `coffee`."""
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(200).round("coffee", 1, {"m8": [0]}, "member m8 joined", "Empty")
    pen.at(1000).moved("tea", "Stable", "PreparingRebalance", 1, "session of m2 expired after 10000 ms", 1, "m1")
    pen.at(1100).moved("coffee", "Stable", "PreparingRebalance", 1, "leader m8 rejoined: why not", 1, "m8")
    pen.at(1150).join("coffee", "m8", 8)
    pen.moved("coffee", "PreparingRebalance", "CompletingRebalance", 2, "all members joined, m8 was the last", 1, "m8")
    pen.at(1400).row("note", what="the disk is full")
    return pen


def backwards() -> Pen:
    """The clock jumps back by 400 ns in the middle of the second rebalance."""
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(1000).round("tea", 2, SWAPPED, "leader m1 rejoined", step=-200)
    return pen


def same_ns() -> Pen:
    pen = Pen()
    pen.at(100)
    for generation, told in enumerate((BOTH, SWAPPED, BOTH), 1):
        pen.round("tea", generation, told, JOINED, "Empty" if generation == 1 else "Stable", step=0)
    return pen


def static() -> Pen:
    """The static member m2 restarts as m3 without a rebalance and receives its partitions 900 ns after its old connection ended.

    A later rebalance finds them with m3, under another id. A second end of m2's old connection takes nothing from m3.
    """
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(1000).row("close", connection=2, by="client", reason="the client closed")
    ticket = pen.at(1500).join("tea", "", 3, "m3")
    reason = "instance i came back: m3 replaces m2"
    pen.row("member", group="tea", member_id="m3", what="replaced", reason=reason, client_id="m3", group_instance_id="i")
    pen.joined(ticket, "m3", 1)
    pen.synced(pen.at(1900).sync("tea", "m3", 3, 1), [2, 3])
    pen.at(3000).round("tea", 2, {"m1": [0, 1], "m3": [2, 3]}, "static member i came back as m3")
    return pen


def lost_sync() -> Pen:
    """The leader never sends SyncGroup, so a new join phase begins with another leader. Then the answer to a SyncGroup is lost, and m2
    has no partitions until the next rebalance."""
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(1000).moved("tea", "Stable", "PreparingRebalance", 1, "leader m1 rejoined", 2, "m1")
    first = pen.join("tea", "m1", 1, "m1")
    second = pen.at(1010).join("tea", "m2", 2, "m2")
    pen.moved("tea", "PreparingRebalance", "CompletingRebalance", 2, "all members joined, m2 was the last", 2, "m1")
    pen.joined(first, "m1", 2, "m1", {"m1": [], "m2": []})
    pen.joined(second, "m2", 2, "m1")
    pen.at(1500).row("member", group="tea", member_id="m1", what="removed", reason="member m1 sent no SyncGroup", client_id="m1")
    pen.moved("tea", "CompletingRebalance", "PreparingRebalance", 2, "m1 sent no SyncGroup within 490 ms", 1, "m2")
    third = pen.at(1600).join("tea", "m2", 2, "m2")
    pen.moved("tea", "PreparingRebalance", "CompletingRebalance", 3, "all members joined, m2 was the last", 1, "m2")
    pen.joined(third, "m2", 3, "m2", {"m2": []})
    sync = pen.at(1700).sync("tea", "m2", 2, 3, {"m2": [0, 1, 2, 3]})
    pen.moved("tea", "CompletingRebalance", "Stable", 3, "leader m2 brought the assignments", 1, "m2")
    pen.synced(sync, [0, 1, 2, 3], delivered=False)
    pen.at(2000).round("tea", 4, BOTH, JOINED)
    return pen


def forced() -> Pen:
    """A command forces a rebalance with the reason of another trigger, and a session that a command expired counts as an expired
    session."""
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(1000).row("command", name="force_rebalance", arguments={"group": "tea", "reason": JOINED})
    pen.round("tea", 2, SWAPPED, JOINED)
    pen.at(2000).row("command", name="expire_member", arguments={"group": "tea", "member": "m2"})
    pen.round("tea", 3, {"m1": [0, 1, 2, 3]}, "session of m2 expired after 10000 ms")
    return pen


def waits() -> Pen:
    """Records from before the first Fetch have no waiting time. Of the later records one is fetched at once, one after the second
    rebalance, and one never."""
    pen = Pen()
    pen.at(50).produce(0, 0)
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(130).fetch("m1", 0, 0)
    pen.fetch("m2", 2, 0)
    pen.at(140).fetch("m1", 0, 1)
    pen.at(200).produce(0, 1)
    pen.at(210).fetch("m1", 0, 2)
    pen.at(900).produce(0, 2)
    pen.at(950).produce(0, 3)
    pen.at(1000).round("tea", 2, SWAPPED, JOINED)
    pen.at(1300).produce(2, 0)
    pen.at(1500).fetch("m2", 0, 4)
    pen.at(1600).round("tea", 3, BOTH, JOINED)
    pen.at(1700).fetch("m3", 2, 9)  # The client m3 is not a member, so its Fetch must not count.
    pen.at(2000).row("note", what="nothing more")
    return pen


def headless() -> Pen:
    """The journal begins during the sync phase, and no message was decoded."""
    pen = Pen()
    pen.at(100).moved("tea", "PreparingRebalance", "CompletingRebalance", 7, "all members joined, m1 was the last", 2, "m1")
    pen.at(150).moved("tea", "CompletingRebalance", "Stable", 7, "leader m1 brought the assignments", 2, "m1")
    pen.at(200).moved("tea", "Stable", "PreparingRebalance", 7, "member m2 and 2 more left: restart", 0)
    pen.moved("tea", "PreparingRebalance", "Empty", 8, "no members are left: nobody else is awaited")
    return pen


CORNERS: Final[dict[str, Callable[[], Pen]]] = {
    each.__name__: each for each in (overlapping, dies, cut, backwards, same_ns, static, lost_sync, forced, waits, headless)
}


def expected() -> dict[str, list[dict[str, Any]]]:
    """Return some columns of the expected lines, which were computed by hand, by corner case and group."""
    return {
        "overlapping": [
            {"group": "coffee", "started_at": 200, "ended_at": 220, "preparing_ns": 10, "completing_ns": 10, "last_member_id": "m9"},
            {"group": "tea", "started_at": 100, "ended_at": 350, "preparing_ns": 200, "completing_ns": 50, "last_member_id": "m1"},
        ],
        "dies": [
            {"ended": "stable", "moved": 0, "members_after": 2},
            {"ended": "dead", "trigger": "leave", "members_before": 2, "moved": None, "generation_after": 1, "phases": 1},
            {"ended": "stable", "trigger": "first join", "moved": 4, "moved_processes": 4, "unowned_ns": 4 * 10, "generation_after": 1},
        ],
        "cut": [
            {"group": "coffee", "rebalance": 1, "ended": "stable"},
            {"rebalance": 2, "ended": "journal's end", "trigger": "leader rejoin", "ended_at": 1400,
             "preparing_ns": 50, "completing_ns": 250},
            {"group": "tea", "rebalance": 1, "ended": "stable"},
            {"rebalance": 2, "ended": "journal's end", "trigger": "session expiry", "leader": None,
             "preparing_ns": 400, "completing_ns": 0},
        ],
        "backwards": [{"backwards": False}, {"backwards": True, "preparing_ns": 0, "completing_ns": 0, "moved": 4, "unowned_ns": 0}],
        "same_ns": [{"moved": 0, "unowned": 0}, {"moved": 4, "unowned": 4, "unowned_ns": 0}, {"moved": 4, "unowned": 4, "unowned_ns": 0}],
        "static": [
            {"ended": "stable", "unowned": 0},
            {"trigger": "static replacement", "moved": 2, "unowned": 6, "unowned_ns": 2 * 900 + 4 * 10, "added": 0},
        ],
        "lost_sync": [
            {"phases": 1},
            {"phases": 2, "trigger": "leader rejoin", "generation_before": 1, "generation_after": 3, "leader": "m2", "joins": 3,
             "removed": 1, "preparing_ns": 10 + 100, "completing_ns": 490 + 100,
             "unowned": 4, "unowned_ns": 2 * 1020 + 2 * 1010, "moved": 2},
            {"trigger": "join", "moved": 2, "unowned": 0},
        ],
        "forced": [
            {"trigger": "first join", "command": None},
            {"trigger": "forced", "command": "force_rebalance", "reason": JOINED},
            {"trigger": "session expiry", "command": "expire_member", "moved": 2, "abandoned": 0},
        ],
        "waits": [{"undelivered_ns": 0}, {"undelivered_ns": 1500 - 900}, {"undelivered_ns": 2000 - 1300}],
        "headless": [
            {"trigger": "journal's begin", "generation_before": 6, "members_before": None, "leader": None, "partitions": None,
             "unowned": None},
            {"trigger": "leave", "ended": "empty", "members_before": 2, "preparing_ns": 0, "unowned_ns": None, "design": None},
        ],
    }  # fmt: skip
