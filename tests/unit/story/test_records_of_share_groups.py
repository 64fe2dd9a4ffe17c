"""The story of a share group says why a record is delivered again, and what became of it."""

from __future__ import annotations

import re

from share_rig import LOCK_MS, ShareRig

from groupmock.story.telling import tell
from groupmock_codec.acknowledge_types import ACCEPT, REJECT, RELEASE

P0 = ("orders", 0)


def _story(share: ShareRig) -> list[str]:
    return [re.sub(r"^ +[0-9.]+  ", "", line) for line in list(tell(share.rig.rows()))[1:]]


def test_a_story_says_why_a_record_is_delivered_again() -> None:
    share = ShareRig()
    share.produce(8)
    anna, ben = share.session("anna"), share.session("ben")
    anna.fetch(P0)
    anna.acknowledge({P0: [(0, 6, ACCEPT)]})
    share.rig.sleep(LOCK_MS)
    ben.fetch(P0)
    assert _story(share) == [
        "anna gets records 0 to 7 of orders/0",
        "anna accepts records 0 to 6 of orders/0",
        "record 7 of orders/0 is available again: anna's lock ended after 15 s",
        "record 7 of orders/0 is delivered to ben for the second time: anna's lock ended after 15 s",
    ]


def test_a_story_names_the_records_that_nobody_gets_again() -> None:
    share = ShareRig(share__delivery__count__limit="2")
    share.produce(2)
    anna, ben = share.session("anna"), share.session("ben")
    anna.fetch(P0)
    anna.acknowledge({P0: [(0, 1, [REJECT, RELEASE])]})
    ben.fetch(P0)
    share.rig.command("expire_locks", group="workers", member="ben")
    assert _story(share)[1:] == [
        "anna releases record 1 of orders/0",
        "anna REJECTS record 0 of orders/0: archived, nobody gets it again",
        "record 1 of orders/0 is delivered to ben for the second time: anna released it",
        "record 1 of orders/0 is ARCHIVED without being accepted: a command ended ben's lock",
    ]


def test_a_story_says_that_a_member_went_with_its_records() -> None:
    share = ShareRig()
    share.produce(3)
    anna, ben = share.session("anna"), share.session("ben")
    anna.fetch(P0)
    ben.fetch(P0)
    anna.hang_up()
    ben.fetch()
    assert _story(share)[1:] == [
        "records 0 to 2 of orders/0 are available again: anna's connection closed",
        "records 0 to 2 of orders/0 are delivered to ben for the second time: anna's connection closed",
    ]
