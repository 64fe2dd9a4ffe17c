"""A consumer group becomes a classic one again, because the last member of the consumer protocol is gone and classic ones remain (CG-185 to
CG-189). By itself a consumer group of classic members stays what it is: only that departure counts, and only where the policy allows.

In Kafka: GroupMetadataManager.validateOnlineDowngrade..., ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...java.hashes import spread
from ...turn import Turn
from .. import causes, telling
from ..classic import rebalance, sessions, storage
from ..classic.group import Member as ClassicMember
from ..classic.group import StoredGroup
from ..classic.subscription import Subscribed
from ..classic.vote import select_protocol
from .classic_members import assignment_bytes
from .group import Group, Member

if TYPE_CHECKING:
    from ..classic.type import ClassicGroup


def hand_over(turn: Turn, old: Group, remaining: Sequence[Member], new: ClassicGroup) -> None:
    """Its members are the classic group's, at its epoch for a generation, with what they were to have (whether or not they had it yet:
    ClassicGroup.fromConsumerGroup). They have to join again, unless the last of the others was only replaced (CG-187): then whoever
    replaced it is put last."""
    assert old.lost is not None
    rebalances, successor = old.lost
    in_order = sorted(remaining, key=lambda member: member.member_id == successor)
    members = [_member(turn, new, member, assignment_bytes(old, member, old.target_of(member))) for member in in_order]
    leader = in_order[0].member_id
    new.refill(StoredGroup(old.generation, "consumer", None, leader, turn.wall_ms, (), (), (), (), ()), members)
    new.protocol_name = select_protocol(new)
    new.subscribed = Subscribed([member.protocols[0][1] for member in members])
    telling.moved(turn, new, "Empty", causes.DOWNGRADED)
    if rebalances:
        rebalance.prepare(turn, new, causes.DOWNGRADED)
    else:
        storage.store(turn, new)


def _member(turn: Turn, group: ClassicGroup, old: Member, assignment: bytes) -> ClassicMember:
    assert old.classic is not None
    return ClassicMember(
        member_id=old.member_id,
        group_instance_id=old.group_instance_id,
        client_id=old.client_id,
        client_host=old.client_host,
        session_timeout_ms=old.classic.session_timeout_ms,
        rebalance_timeout_ms=old.rebalance_timeout_ms,
        protocols=old.classic.protocols,
        session=turn.timers.set(sessions.key(group, old.member_id), turn.after(old.classic.session_timeout_ms)),
        spread=spread(old.member_id),
        is_new=False,
        assignment=assignment,
    )
