"""A turn is one event or one firing timer in the core: the code that handles it gets time, settings and timers from the turn, and adds
effects to the turn."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from groupmock_codec.declare import Message
from groupmock_codec.units import NS_PER_MS

from .effects import Abandoned, Close, Effects, Lease, Leasing, MemberChanged, Moved, Note, Replies, Reply
from .work import AT_ONCE, CONTROLLER, OF_CONTROLLER, OF_GROUPS, OF_OFFSETS, Asks, Steps, Work

if TYPE_CHECKING:
    from .budget import OverBudget
    from .effects import AnyGroup, AnyMember, Reason
    from .environment import Environment


DONE: Final = object()


class Turn:
    """The core creates one turn for each event and each firing timer. `now` is int ns since the run's epoch; `out` collects the effects
    in order. `settings`, `quirks` (of the release) and `timers` are the cluster's."""

    __slots__ = ("environment", "now", "out", "quirks", "settings", "timers")

    def __init__(self, environment: Environment, now: int, out: Effects) -> None:
        self.environment = environment
        self.settings = environment.settings
        self.quirks = environment.settings.quirks
        self.timers = environment.timers
        self.now = now
        self.out = out

    @property
    def wall_ms(self) -> int:
        """Return the wall clock time in ms since 1970."""
        return self.environment.epoch_ms + self.now // NS_PER_MS

    def after(self, delay_ms: int) -> int:
        """Return the time `delay_ms` from now, for use as a deadline; a negative delay counts as 0."""
        return self.now + max(delay_ms, 0) * NS_PER_MS

    def reply(self, ticket: int, message: Message, lease: Lease | None = None) -> None:
        self.out.append(Reply(ticket, message, lease))

    def replies(self, replies: Iterator[Reply]) -> None:
        """Answer many requests, building each answer only when the driver sends it."""
        self.out.append(Replies(replies))

    def begin(self, steps: Callable[[Turn], Steps], group: Leasing | None = None) -> None:
        """Begin work that may take long and is done in steps (`core.work`). `steps` gets a turn of its own and has to use that one.

        `group`: nothing else happens to it until the work is done, and none of its heartbeats is repeated. The first step is done at once,
        because with a small group it is the only one."""
        if group is None:
            self._begin(steps)
            return
        turn = Turn(self.environment, self.now, self.out)
        running = steps(turn)
        if next(running, DONE) is not DONE:
            group.end_leases()
            self._begin_with(running, turn, (group.group_id,), OF_GROUPS)

    def begin_on_offsets(self, steps: Callable[[Turn], Steps], groups: Container[str]) -> None:
        """Begin work on the offsets of groups: requests for these offsets wait for its end, but requests of members do not."""
        self._begin(steps, groups, OF_OFFSETS)

    def begin_request(self, steps: Callable[[Turn], Steps], elements: int, groups: Container[str] = (), asks: Asks = OF_GROUPS) -> None:
        """Handle a request with `elements` elements, in steps if there are many. The groups that it names may not exist yet.

        Steps that only read the request may come at any time. The step that looks at the group and changes it comes after `others_first`.
        """
        if elements > AT_ONCE:
            self._begin(steps, groups, asks)
        else:
            for _ in steps(self):
                pass

    def begin_on_topics(self, steps: Callable[[Turn], Steps], elements: int) -> None:
        """Handle a request to the controller, in steps if it has many elements. Other such requests wait meanwhile."""
        self.begin_request(steps, elements, (CONTROLLER,), OF_CONTROLLER)

    def others_first(self, group_id: str) -> Iterable[None]:
        """Finish other work on the group (such as the end of a transaction), so that nothing about the group is half done."""
        return self._others_first(group_id) if self.environment.busy else ()

    def _others_first(self, group_id: str) -> Steps:
        idle = False
        while not idle:
            idle = True
            for work in [*self.environment.busy]:
                if work.turn is not self and group_id in work.groups:
                    for _ in self._left_of(work):
                        idle = False
                        yield

    def _begin(self, steps: Callable[[Turn], Steps], groups: Container[str] = (), asks: Asks = OF_GROUPS) -> None:
        turn = Turn(self.environment, self.now, [])
        self._begin_with(steps(turn), turn, groups, asks)

    def _begin_with(self, steps: Steps, turn: Turn, groups: Container[str], asks: Asks) -> None:
        work = Work(steps, turn, groups, asks)
        self.out.append(work)
        if groups != ():
            self.environment.busy.append(work)

    def _left_of(self, work: Work) -> Steps:
        while True:
            work.turn.now, work.turn.out = self.now, self.out
            if next(work.steps, work) is work:
                return
            yield

    def finish(self, work: Work) -> None:
        """Finish work that was begun, without its remaining pauses. Requests that wait for it come later."""
        for _ in self._left_of(work):
            pass

    def refuse(self, ticket: int, refusal: OverBudget) -> None:
        """Close the connection of a request that would cost too much."""
        self.out.append(Close(ticket, str(refusal), over_budget=True))

    def abandon(self, ticket: int, reason: str) -> None:
        """Never answer a request, because Kafka does not answer it either. Its connection stays mute."""
        self.out.append(Abandoned(ticket, reason))

    def member_changed(self, group: AnyGroup, member_id: str, what: str, why: Reason, member: AnyMember | None = None) -> None:
        """Add an effect that says what happened to a member of a group, or to a reserved id."""
        if member is None:
            self.out.append(MemberChanged(group.group_id, member_id, what, why.cause, why.sentence))
            return
        instance, client_id, client_host = member.group_instance_id, member.client_id, member.client_host
        self.out.append(MemberChanged(group.group_id, member_id, what, why.cause, why.sentence, instance, client_id, client_host))

    def group_moved(self, group: AnyGroup, before: str, why: Reason) -> None:
        """Add an effect that says that the group has changed its state; `before` is empty for a new group."""
        self.out.append(
            Moved(
                group=group.group_id,
                before=str(before),
                after=str(group.state),
                generation=group.generation,
                cause=why.cause,
                reason=why.sentence,
                leader=group.leader_id,
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                members=len(group.members),
            )
        )

    def note(self, what: str, **fields: object) -> None:
        """Add a journal row about something that is no protocol event."""
        self.out.append(Note(what, fields))


TimerHandler = Callable[[tuple[str, ...], Turn], bool]
"""A function that handles a timer, called with the subject for which the timer was set (`timers.NAMES`). It returns True if it did
something."""
