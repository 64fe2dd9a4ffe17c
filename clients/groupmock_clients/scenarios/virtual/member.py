"""A scripted member of a classic group that behaves like a stock consumer, with the same assignor code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Final

from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.versions import newest
from groupmock_codec import error_codes
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP
from groupmock_codec.error_codes import error_name
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchResponse
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse
from groupmock_codec.messages.k12_heartbeat import HeartbeatResponse
from groupmock_codec.messages.k14_sync_group import SyncGroupResponse

from ...cooperative.balance import Partition
from ...cooperative.member import AssignmentEffect
from ..play import GROUP
from .assignors import Assignor, Held
from .delivery import Delivery
from .producer import Producer

if TYPE_CHECKING:
    from groupmock.net.clock import Handle

    from .link import Link
    from .world import World

REBALANCE_TIMEOUT_MS: Final = 60_000
NOTHING: Final[Held] = frozenset()


class VirtualMember(ClassicMember):
    """Plays one process from its start to its end. `counts` has the cluster's numbers of partitions.

    `dice` draws the times of its periodic actions. `twin` members, and those of a class that `GOES_ON`, go on delivering during a
    rebalance. `ASSIGNORS` makes the assignors of all members of a class, or is None if the run's protocol decides.
    """

    ASSIGNORS: ClassVar[Sequence[Callable[[], Assignor]] | None] = None
    GOES_ON: ClassVar[bool] = False

    def __init__(
        self, world: World, producer: Producer, counts: Mapping[str, int], name: str, topics: Sequence[str], assignors: Sequence[Assignor],
        twin: bool, dice: Random,
    ) -> None:  # fmt: skip
        super().__init__(GROUP, topics=topics, session_ms=world.sizes.session_ms, rebalance_ms=REBALANCE_TIMEOUT_MS)
        self.dice = dice
        self.world, self.counts, self.name = world, counts, name
        self.assignors = {each.name: each for each in assignors}
        self.goes_on = twin or self.GOES_ON
        self.delivery = Delivery(name, producer)
        self.owned: Held = NOTHING
        self.stable = False
        # The partitions that this rebalance revoked, which are committed once more before the next rebalance.
        self._handed_over: Held = NOTHING
        self._link: Link | None = None
        self._timers: dict[str, Handle] = {}
        self._seen: dict[str, int] = {}
        self._wants = False  # True if the member is to rejoin as soon as possible.

    # -- start and end

    def start(self, first: bool) -> None:
        """Start the process, which joins after `startup_ms`. The very first process joins slightly earlier, so that it leads."""
        self.world.tell(self.name, "started", {})
        jitter = 0.0 if first else self.dice.uniform(0.001, 0.1) * self.world.sizes.startup_ms
        self._after(self.world.sizes.startup_ms + jitter, "start", self._up)

    def _up(self) -> None:
        self._link = self.world.connect(self.name)
        self.world.tell(self.name, "connection", {"client_id": self.name, "port": self._link.connection.port, "role": "group"})
        self._after(self.dice.uniform(0, self.world.sizes.heartbeat_ms), "heartbeat", self._heartbeat)
        self._after(self.dice.uniform(0, self.world.sizes.commit_ms), "commit", self._commit_again)
        self._after(self.dice.uniform(0, self.world.sizes.metadata_ms), "metadata", self._look_at_metadata)
        self._seen = dict(self.counts)
        self._join()

    def kill(self) -> None:
        """Die without a commit or LeaveGroup."""
        self._end()
        self.world.tell(self.name, "killed", {})

    def stop(self) -> None:
        """Commit, leave, and end the process."""
        if self._link is not None and self.member_id:
            self.delivery.serve(NOTHING)
            self._commit(self.owned)
            self._leave()
        self._end()
        self.world.tell(self.name, "stopped", {})

    def _leave(self) -> None:
        assert self._link is not None
        link = self.world.connect(self.name) if self._link.waiting else self._link
        leave = self.leave_request()
        link.post(LEAVE_GROUP, newest(LEAVE_GROUP, leave), leave, ignored)
        if link is not self._link:
            link.close()

    def _end(self) -> None:
        for handle in self._timers.values():
            handle.cancel()
        self._timers.clear()
        self.stable = False
        self.delivery.serve(NOTHING)
        if self._link is not None:
            self._link.close()

    def subscribe(self, topics: Sequence[str]) -> None:
        """Change the subscription and rejoin with it, as a stock consumer does."""
        self.topics = list(topics)
        self._seen = dict(self.counts)
        self._rejoin()

    @property
    def eager(self) -> bool:
        """Tell whether the member lists an eager assignor. Then the listener hears of all partitions in every round, as with
        kafka-python."""
        return any(each.eager for each in self.assignors.values())

    @property
    def at_rest(self) -> bool:
        """Tell whether the member is in the group and is not about to rejoin."""
        return self.stable and not self._wants and "rejoin" not in self._timers

    # -- rebalances

    def _rejoin(self) -> None:
        """Rejoin now, or at the end of the current rebalance."""
        if self.stable:
            self._join()
        else:
            self._wants = True

    def _join(self) -> None:
        self.stable = self._wants = False
        self._cancel("rejoin")
        if not self.goes_on:
            self.delivery.serve(NOTHING)
        if self.generation >= 0:
            self._commit(self.owned | self._handed_over)
        self._handed_over = NOTHING
        if self.eager:
            self._tell("revoked", self.owned)
        self._ask_to_join(self.join_request())

    def offers(self) -> Iterable[tuple[str, bytes]]:
        """Return the Subscription of each assignor."""
        return [(name, each.metadata(self.topics, self.owned)) for name, each in self.assignors.items()]

    def _ask_to_join(self, request: JoinGroupRequest) -> None:
        self._ask(JOIN_GROUP, request, lambda answer: self._welcome(answer, request))

    def _welcome(self, answer: JoinGroupResponse, request: JoinGroupRequest) -> None:
        error = self.joined(answer)
        if error == error_codes.MEMBER_ID_REQUIRED:
            request.member_id = self.member_id
            self._ask_to_join(request)
            return
        if error:
            self._refused(error)
            return
        chosen = self.assignors[answer.protocol_name or ""]
        given: dict[str, bytes] = {}
        if self.leads:
            self._seen = dict(self.counts)
        if self.assigns:
            given = chosen.assign(self.counts, self.members, self.member_id)
        self._ask(SYNC_GROUP, self.sync_request(given), lambda answer: self._synced(answer, chosen))

    def _synced(self, answer: SyncGroupResponse, chosen: Assignor) -> None:
        if answer.error_code == error_codes.REBALANCE_IN_PROGRESS:
            self._join()
        elif answer.error_code:
            self._refused(answer.error_code)
        else:
            self.stable = True
            self._apply(chosen.received(self.owned, answer.assignment, self.member_id, self.topics, self.counts))

    def _apply(self, outcome: AssignmentEffect) -> None:
        kept = self.owned - outcome.revoked
        self.owned, self._handed_over = outcome.held, outcome.revoked if outcome.rejoin else NOTHING
        if not self.eager:
            self._tell("revoked", outcome.revoked)
            self._tell("assigned", outcome.added)
        else:
            self._tell("assigned", outcome.held)
        if outcome.timeout_ms:
            self._after(outcome.timeout_ms, "rejoin", self._rejoin)
        if self.goes_on:
            self.delivery.serve(kept)
        if outcome.rejoin or self._wants:
            self._wants = True
        self._fetch_offsets(outcome.added)

    def _fetch_offsets(self, added: Held) -> None:
        """Fetch the offsets of added partitions, then deliver, or begin the next rebalance."""
        if not added:
            self._deliver()
            return
        self._ask(OFFSET_FETCH, self.offsets_request(sorted(added)), self._fetched)

    def _fetched(self, answer: OffsetFetchResponse) -> None:
        for topic in answer.topics:
            for each in topic.partitions:
                self.delivery.positions[topic.name, each.partition_index] = max(each.committed_offset, 0)
        self._deliver()

    def _deliver(self) -> None:
        if not self.stable:
            return
        if self._wants:
            if self.goes_on:
                self.delivery.serve(self.owned)
            self._join()
        else:
            self.delivery.serve(self.owned)

    def _refused(self, error: int) -> None:
        """Give up the owned partitions after an error unless the group merely rebalances, and rejoin as a new member."""
        if error not in (error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION, error_codes.REBALANCE_IN_PROGRESS):
            raise RuntimeError(f"{self.name} got error {error_name(error)}: a scripted member has no answer to that")
        if error != error_codes.REBALANCE_IN_PROGRESS:
            self._tell("lost", self.owned)
            self.delivery.serve(NOTHING)
            self.owned, self.generation = NOTHING, -1
            self.member_id = "" if error == error_codes.UNKNOWN_MEMBER_ID else self.member_id
        self._join()

    # -- periodic actions

    def _heartbeat(self) -> None:
        self._after(self.world.sizes.heartbeat_ms, "heartbeat", self._heartbeat)
        if self.stable and self._link is not None and not self._link.waiting:
            self._ask(HEARTBEAT, self.heartbeat_request(), self._beaten)

    def _beaten(self, answer: HeartbeatResponse) -> None:
        if not self.stable or not answer.error_code:
            return
        if answer.error_code == error_codes.REBALANCE_IN_PROGRESS:
            self._join()
        else:
            self._refused(answer.error_code)

    def _look_at_metadata(self) -> None:
        """Rejoin if this leader sees other partitions than it assigned."""
        self._after(self.world.sizes.metadata_ms, "metadata", self._look_at_metadata)
        changed = {topic for topic in self.topics if self.counts.get(topic) != self._seen.get(topic)}
        self._seen = dict(self.counts)
        if self.leads and self.stable and changed:
            self._rejoin()

    def _commit_again(self) -> None:
        self._after(self.world.sizes.commit_ms, "commit", self._commit_again)
        if self.stable:
            self._commit(self.owned)

    def _commit(self, partitions: Iterable[Partition]) -> None:
        if offsets := dict(sorted(self.delivery.offsets(partitions).items())):
            self._ask(OFFSET_COMMIT, self.commit_request(offsets), ignored)

    def _tell(self, what: str, partitions: Held) -> None:
        if partitions:
            self.world.tell(self.name, what, {"partitions": sorted(map(list, partitions))})

    def _ask(self, key: int, message: Any, then: Callable[[Any], None]) -> None:
        assert self._link is not None, "a member asks when it is up"
        self._link.post(key, newest(key, message), message, then)

    def _after(self, ms: float, what: str, callback: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.pop(what, None)
            callback()

        self._cancel(what)
        self._timers[what] = self.world.later(ms, due)

    def _cancel(self, what: str) -> None:
        handle = self._timers.pop(what, None)
        if handle is not None:
            handle.cancel()


def ignored(answer: object) -> None:
    """Ignore the answer to a commit, even an error. A refused commit is like a late one: the next owner begins at the previous offset."""
