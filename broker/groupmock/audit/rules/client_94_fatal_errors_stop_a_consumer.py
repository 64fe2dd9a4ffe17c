"""CLIENT-94 requires that a consumer stops after an error of ConsumerGroupHeartbeat that will not change."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from groupmock_codec import error_codes
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT

from ..consumer_example import HEADER
from ..course import JOINING, epoch_said
from ..judgement import ANOTHER_PROCESS, UNREAD
from ..pace import ROUNDS
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked, closed
from ..subjects import Exchange, Link

FATAL: Final = frozenset({
    error_codes.INVALID_REQUEST, error_codes.FENCED_INSTANCE_ID, error_codes.GROUP_MAX_SIZE_REACHED, error_codes.UNRELEASED_INSTANCE_ID,
    error_codes.UNSUPPORTED_ASSIGNOR, error_codes.GROUP_AUTHORIZATION_FAILED, error_codes.INVALID_REGULAR_EXPRESSION,
    error_codes.UNSUPPORTED_VERSION,
})  # fmt: skip
JOINS: Final = (
    "A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=0 rebalance_timeout_ms=2000 subscribed_topic_names=[$t1] topic_partitions=[] "
    "server_assignor=mine -> 112"
)


class Refusals:
    """A refused ConsumerGroupHeartbeat, and the rows of all equal ones since the first."""

    __slots__ = ("last", "rows")

    def __init__(self, last: Exchange, rows: tuple[int, ...]) -> None:
        self.last, self.rows = last, rows


class FatalErrorsStopAConsumer(Rule):
    code = "CLIENT-94"
    title = "A ConsumerGroupHeartbeat that was refused for good is not repeated"
    what = (
        "A ConsumerGroupHeartbeat answered UNSUPPORTED_ASSIGNOR (112), UNRELEASED_INSTANCE_ID (111), FENCED_INSTANCE_ID (82), "
        "GROUP_MAX_SIZE_REACHED (81), INVALID_REQUEST (42), GROUP_AUTHORIZATION_FAILED (30), UNSUPPORTED_VERSION (35) or "
        "INVALID_REGULAR_EXPRESSION (128) is not sent again as it was, over and over, on the same connection."
    )
    why = "The answer stays the same until somebody changes a configuration. The application waits for partitions and learns of nothing."
    source = ("clients.md#client-94", "clients.md#rules-of-a-consumer-protocol-client", "KIP-848")
    fix = "Make these errors fatal: hand them to the application, and send no heartbeat until it begins anew."
    kept = f"""{HEADER}
{JOINS}
A drops
"""
    broken = f"""{HEADER}
repeat 4
{JOINS}
pause 300
end
"""
    also_broken: ClassVar[dict[str, str]] = {
        "without-a-pause": f"""{HEADER}
repeat 4
{JOINS}
end
""",
    }

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge a heartbeat that equals those that were refused; three repetitions are a loop."""
        known: Refusals | None = x.link.notes.get(self.code)
        if known is None or epoch_said(x) < JOINING:
            return
        if x.waited_since(known.last) < 0:
            yield UNREAD
        elif _content(x) != _content(known.last):
            del x.link.notes[self.code]
        elif len(known.rows) >= 2 * ROUNDS:
            rows, known.rows = known.rows, ()
            yield Broken(
                f"{x.who} had its ConsumerGroupHeartbeat refused with {error_codes.error_name(known.last.error)} and sent the same again "
                f"{ROUNDS} times",
                (*rows, x.seq),
                "no heartbeat: the error is fatal and for the application",
            )

    @answered(CONSUMER_GROUP_HEARTBEAT)
    def is_refused(self, x: Exchange) -> Judgements:
        known: Refusals | None = x.link.notes.get(self.code)
        if x.heard and x.error in FATAL and epoch_said(x) >= JOINING:
            again = known is not None and _content(known.last) == _content(x)
            x.link.notes[self.code] = Refusals(x, (*known.rows, *x.rows) if again and known is not None else x.rows)
        elif x.heard:
            x.link.notes.pop(self.code, None)
        return iter(())

    @closed
    def stops(self, link: Link) -> Judgements:
        """Judge a client that has stopped. By another connection it may go on."""
        if self.code in link.notes:
            yield KEPT if self.world.processes.last_of(link) else ANOTHER_PROCESS


def _content(x: Exchange) -> dict[str, Any]:
    """Return a heartbeat without its member id, because a client that begins anew chooses another one."""
    return {name: value for name, value in x.asked.items() if name != "member_id"}
