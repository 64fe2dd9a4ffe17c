"""Commands for records in flight, and the views of them."""

from __future__ import annotations

import pytest
from share_rig import GROUP, LOCK_MS, ShareRig

from groupmock.core.steering.register import BadArguments, NoSuch, NotNow
from groupmock.data.in_flight import RecordsInFlight, in_flight
from groupmock.server import share_wait
from groupmock.server.wait_condition import Sight
from groupmock_codec.acknowledge_types import ACCEPT

P0 = ("orders", 0)


def test_locks_end_when_a_command_says_so(share: ShareRig) -> None:
    share.produce(6)
    alice, bob = share.session("alice"), share.session("bob")
    alice.fetch(P0)
    waiting = bob.send(P0, max_wait_ms=60_000)
    share.rig.command("expire_locks", group=GROUP, topic="orders", partition=0, first=2, last=3)
    assert bob.acquired(waiting.answer) == {P0: [(2, 3, 2)]}
    share.rig.command("expire_locks", group=GROUP, member="alice")
    assert bob.take() == [(0, 1, 2), (4, 5, 2)]
    with pytest.raises(NotNow, match="bob has 6 of orders/0"):
        share.rig.command("expire_locks", group=GROUP, member="alice")
    assert {note["cause"] for note in share.notes("records_released")} == {"expiry_ordered"}


def test_the_records_of_a_member_are_released_by_command(share: ShareRig) -> None:
    share.produce(3)
    alice = share.session("alice")
    alice.fetch(P0)
    share.rig.command("release_records", group=GROUP, member="alice")
    assert alice.take() == [(0, 2, 2)]
    with pytest.raises(NoSuch, match="no member of share group 'nobody' fetches: there are workers"):
        share.rig.command("release_records", group="nobody", member="alice")


def test_archived_records_never_come_again(share: ShareRig) -> None:
    share.produce(5)
    alice = share.session("alice")
    alice.fetch(P0)
    share.rig.command("archive_records", group=GROUP, topic="orders", partition=0, first=0, last=1)
    alice.close()
    assert share.session("bob").take(P0) == [(2, 4, 2)]
    with pytest.raises(NotNow, match="no record from 9 to 9 of orders/0"):
        share.rig.command("archive_records", group=GROUP, topic="orders", partition=0, first=9, last=9)


def test_held_deliveries_come_when_they_are_resumed(share: ShareRig) -> None:
    share.produce(2)
    share.rig.command("hold_deliveries", group=GROUP)
    alice = share.session("alice")
    assert alice.take(P0) == []
    waiting = alice.send(max_wait_ms=60_000)
    share.produce(1)
    assert waiting.answer is None
    share.rig.command("resume_deliveries", group=GROUP)
    assert alice.acquired(waiting.answer) == {P0: [(0, 2, 1)]}


def test_views_say_who_has_which_records_and_until_when(share: ShareRig) -> None:
    share.produce(4)
    alice = share.session("alice")
    alice.fetch(P0)
    share.rig.sleep(1000)
    alice.acknowledge({P0: [(1, 2, ACCEPT)]})
    (row,) = in_flight(share.cluster, GROUP, share.rig.now)
    assert (row.topic, row.partition, row.start, row.end, row.acquired, row.lag) == ("orders", 0, 0, 4, 2, 2)
    held = {"deliveries": 1, "member_id": "alice", "lock_ms": LOCK_MS - 1000}
    assert row.records == [
        RecordsInFlight(0, 0, "acquired", **held),
        RecordsInFlight(1, 2, "acknowledged", 1),
        RecordsInFlight(3, 3, "acquired", **held),
    ]


def test_waits_say_what_is_missing(share: ShareRig) -> None:
    none, twice = share_wait.acquired(0), share_wait.deliveries(2)
    assert none.lacks(Sight(share.cluster, GROUP)) is None
    assert twice.lacks(Sight(share.cluster, GROUP)) == "deliveries 2 or more: no record is in flight"
    share.produce(3)
    alice = share.session("alice")
    alice.fetch(P0)
    assert none.lacks(Sight(share.cluster, GROUP)) == "acquired 0 or less: it is 3 (orders/0 3)"
    assert twice.lacks(Sight(share.cluster, GROUP)) == "deliveries 2 or more: the most are 1 (record 0 of orders/0)"
    share.rig.sleep(LOCK_MS)
    alice.fetch()
    assert twice.lacks(Sight(share.cluster, GROUP)) is None


def test_configs_of_a_group_are_set_and_unset_by_command(share: ShareRig) -> None:
    share.rig.command("configure_group", group=GROUP, set={"share.delivery.count.limit": "2"}, unset=["share.auto.offset.reset"])
    assert share.cluster.groups.configs.own[GROUP] == {"share.delivery.count.limit": "2"}
    with pytest.raises(BadArguments, match="must be in the range 2 to 10 inclusive: nothing was changed"):
        share.rig.command("configure_group", group=GROUP, set={"share.delivery.count.limit": "11"})
