"""CLIENT-02 requires that a member uses the id of its JoinGroup answer in all requests, as long as it is a member."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, SYNC_GROUP

from ..judgement import TROUBLED, UNREAD
from ..request_contents import leavers_of
from ..rule import KEPT, Broken, Judgements, NotJudged, Rule, asked, refused
from ..subjects import HARMLESS, ILLEGAL_GENERATION, Exchange, Member


class KeepsItsId(Rule):
    code = "CLIENT-02"
    title = "A member uses its member id for as long as it is a member"
    what = (
        "The member id that JoinGroup's answer confirmed is in every later JoinGroup, SyncGroup, Heartbeat, OffsetCommit and LeaveGroup of "
        "the member, until it leaves or is answered UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."
    )
    why = (
        "Under another id it is another member: the old one stays in the group without a process behind it, and its partitions are read by "
        "nobody until its session has expired."
    )
    source = ("clients.md#client-02", "AbstractCoordinator")
    fix = "Keep the member id across rebalances and forget it only after LeaveGroup, 25 or 82."
    implies = ()
    kept = """
do stable1(A)
pause 300
A: Heartbeat -> 0
pause 300
A: JoinGroup -> 0 generation_id=2
"""
    broken = """
do stable1(A)
pause 300
A: JoinGroup member_id="" -> 79
"""

    @refused(SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT)
    def refused(self, x: Exchange) -> Judgements:
        """Note that a client may begin anew after ILLEGAL_GENERATION (CLIENT-04), whatever later answers in that generation say."""
        if x.member is not None and ILLEGAL_GENERATION in x.errors:
            x.member.notes[self.code] = x.member.joined
        return iter(())

    @asked(JOIN_GROUP, SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT, LEAVE_GROUP)
    def speaks(self, x: Exchange) -> Judgements:
        """Judge whether a heartbeat or commit names the member of its connection."""
        last, sent = x.link.last, _sent(x)
        if last is None or last.joined is None or x.group is None or last.group is not x.group or not x.link.host or sent is None:
            return  # If the connection was opened before the journal began, its earlier answers are unknown.
        uncertain = self._uncertain(last, x)
        if uncertain is not None:
            yield uncertain
        elif sent == last.id:
            yield KEPT
        elif not sent or x.member is None or x.member.wish is None:
            yield Broken(
                f"{last.name} is a member of the group and sent a {x.name} "
                + ("under a member id that it was never given" if sent else "without its member id"),
                (*last.joined.rows, x.seq),
                f"a {x.name} with the member id that JoinGroup's answer confirmed",
            )

    def _uncertain(self, last: Member, x: Exchange) -> NotJudged | None:
        """Return None if the connection's client is certainly still this member and knows its id, or the reason why that is uncertain. A
        client whose session has passed without a good answer may give up its id: librdkafka begins anew then
        (rd_kafka_cgrp_session_timeout_check)."""
        heard = last.heard
        well = heard is not None and heard.delivered and heard.errors <= HARMLESS and x.waited_since(heard) >= 0
        if (
            not well
            or last.gone
            or last.leaving is not None
            or last.notes.get(self.code) is last.joined
            or max(last.doubt, x.received - last.confirmed) > last.session_ns * 9 // 10
        ):
            return TROUBLED
        is_crossed = x.link.order.crossed is last.joined
        return None if last.joined is not None and not is_crossed and self.knew(x, last.joined) else UNREAD


def _sent(x: Exchange) -> str | None:
    """Return the member id in a request, or None if the request does not concern a single member, such as an administrator's LeaveGroup
    or a commit for the whole group."""
    if x.key == LEAVE_GROUP:
        leavers = leavers_of(x)
        return leavers[0][0] if len(leavers) == 1 and leavers[0][0] else None
    sent = str(x.asked["member_id"])
    return None if x.key == OFFSET_COMMIT and not sent else sent
