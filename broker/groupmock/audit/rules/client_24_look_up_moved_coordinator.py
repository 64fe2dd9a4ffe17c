"""CLIENT-24 requires that a client looks up its coordinator after COORDINATOR_NOT_AVAILABLE (15) or NOT_COORDINATOR (16)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from groupmock_codec.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    SYNC_GROUP,
)

from ..judgement import ANOTHER_PROCESS, TROUBLED, UNREAD
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, NotJudged, Rule, answered_again, asked, asked_again
from ..subjects import COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, Exchange

if TYPE_CHECKING:
    from ..known_world import World

KEYS: Final = (JOIN_GROUP, SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT, OFFSET_FETCH, CONSUMER_GROUP_HEARTBEAT)
"""The requests that this rule judges. LeaveGroup is missing, because a client that ends tries only once, at the old node."""
GROUP: Final = 0
"""The key type of a FindCoordinator that looks up a group."""
MOVED: Final = frozenset({COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
FETCH_MOVED: Final = frozenset({NOT_COORDINATOR})
"""The errors of an OffsetFetch that the rule judges: only NOT_COORDINATOR, because the Java client treats COORDINATOR_NOT_AVAILABLE (15)
as an unexpected error."""
REMEMBERED: Final = 4096
"""At most this many (client, group) pairs are remembered, because clients look up coordinators on connections that have nothing else to
do with the group."""


class AsksForItsCoordinator(Rule):
    code = "CLIENT-24"
    title = "After NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE the client asks FindCoordinator"
    what = "A client that was answered 15 or 16 sends FindCoordinator for the group before it sends the next request about it there."
    why = (
        "This broker will go on refusing: the group has moved. A client that stays loses its session while it could have gone on elsewhere."
    )
    source = ("clients.md#client-24", "AbstractCoordinator.markCoordinatorUnknown")
    fix = "Forget the coordinator on 15 and 16, in the answers to every API, and let all requests wait for FindCoordinator."
    kept = """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
A: Heartbeat -> 16
A: FindCoordinator -> 15
!move_coordinator partition=hash($group, 50) loading_ms=0
pause 300
A: FindCoordinator -> 0
A: Heartbeat -> 0
"""
    broken = """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
A: Heartbeat -> 16
pause 300
A: Heartbeat -> 16
"""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._asked: OrderedDict[tuple[tuple[str, str | None], str], int] = OrderedDict()
        self._forgotten = -1  # FindCoordinator requests up to this time may have been forgotten.

    @asked(FIND_COORDINATOR)
    def asks(self, x: Exchange) -> Judgements:
        """Note a look-up of the coordinator on any connection."""
        if x.asked.get("key_type", GROUP) == GROUP:
            for name in x.asked.get("coordinator_keys") or (x.asked.get("key"),):
                self._asked[x.client, str(name)] = x.received
                self._asked.move_to_end((x.client, str(name)))
        while len(self._asked) > REMEMBERED:
            self._forgotten = max(self._forgotten, self._asked.popitem(last=False)[1])
        return iter(())

    @answered_again(*KEYS)
    def refused(self, x: Exchange) -> Judgements:
        """Note a refusal after which the client must look up the coordinator, unless the broker then answers as the group's coordinator
        after all."""
        if x.group is None or not x.heard:
            return iter(())
        before: Exchange | None = x.link.notes.get(self.code)
        same = before is not None and before.group is not None and before.group.name == x.group.name
        if x.errors & (FETCH_MOVED if x.key == OFFSET_FETCH else MOVED):
            if not same:  # The first refusal counts, so that the grace of a client that goes on and on has an end.
                x.link.notes[self.code] = x
        elif same:
            del x.link.notes[self.code]
        return iter(())

    @asked_again(*KEYS)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge the next request about the group after a refusal. FindCoordinator may be older than the answer if another request was
        refused, too."""
        before: Exchange | None = x.link.notes.get(self.code)
        if before is None or x.group is None or before.group is None or x.group.name != before.group.name:
            return
        looked_up = self._asked.get((x.client, x.group.name), -1) >= before.received
        uncertain = self._uncertain(x, before)
        if looked_up or uncertain is None:
            del x.link.notes[self.code]  # The noted refusal is dropped, so that it is judged only once.
        if uncertain is not None:
            yield uncertain
        elif looked_up:
            yield KEPT
        else:
            error = "NOT_COORDINATOR" if NOT_COORDINATOR in before.errors else "COORDINATOR_NOT_AVAILABLE"
            yield Broken(
                f"{x.who} was answered {error} to {before.name} and sent {x.name} to the same broker {x.waited_since(before) // 1_000_000} "
                f"ms later, without a FindCoordinator",
                (*before.rows, x.seq),
                "FindCoordinator first, then the request to the coordinator that it names",
            )

    def _uncertain(self, x: Exchange, before: Exchange) -> NotJudged | None:
        """Return the reason why a missing FindCoordinator of this client would not be noticed, or None."""
        elsewhere = not self.world.processes.one_thread(x.link)  # A FindCoordinator may be under way on another connection.
        if not self.knew(x, before) or (elsewhere and x.waited_since(before) < GRACE_NS):
            return UNREAD
        if self.world.processes.muffled(x.link):
            return TROUBLED
        several = len(self.world.processes.members_of(x.client)) > 1
        return ANOTHER_PROCESS if several or self._forgotten >= before.received else None
