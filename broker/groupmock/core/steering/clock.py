"""Commands for time move the clock, or let one timer fire now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from groupmock_codec.units import NS_PER_MS

from ..effects import ClockStepped
from ..timers import NAMES
from . import acls, members, nodes, transactions
from .find import listed
from .members import ExpireMember, expire_member
from .register import Arguments, BadArguments, NoSuch, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

MONTH_MS: Final = 31 * 24 * 3600 * 1000
"""A step is limited to a month, because everything that comes due on the way (idle connections, retention) is done while clients wait."""
SUBJECTS: Final = "; ".join(f"{name}: {subject}" for name, subject in NAMES.items())


class StepClock(Arguments):
    """Move the server's clock forward while clients stay connected: every deadline on the way fires at its own time, in order."""

    ms: Annotated[int, Meta(description="how far, 31 days at most", ge=1, le=MONTH_MS)]


@steers("step_clock", StepClock)
def step_clock(cluster: Cluster, arguments: StepClock, turn: Turn) -> None:
    """Ask the driver to move its clock, because the core only knows the time from events."""
    turn.out.append(ClockStepped(arguments.ms * NS_PER_MS))


class JumpTimer(Arguments):
    """Let one timer fire now instead of at its deadline, while the clock stands still."""

    timer: Annotated[str, Meta(description=f"one of {', '.join(NAMES)}")]
    subject: Annotated[tuple[str, ...], Meta(description=f"what it was set for. {SUBJECTS}")] = ()


@steers("jump_timer", JumpTimer)
def jump_timer(cluster: Cluster, arguments: JumpTimer, turn: Turn) -> None:
    """Fire the timer now, and refuse a timer that is not set."""
    key = (arguments.timer, *arguments.subject)
    if key not in turn.timers:
        armed = [" ".join(each[1:]) or each[0] for each in turn.timers.armed(arguments.timer)]
        raise NoSuch(f"no timer {arguments.timer!r} is armed for {' '.join(arguments.subject) or 'nothing'}: there are {listed(armed)}")
    if arguments.timer == "session":
        if len(arguments.subject) != 2:
            raise BadArguments("jump_timer: a session is named by its group and its member id")
        # A member that waits for an answer is refused here, because it does not expire on Kafka (SERVER-30).
        expire_member(cluster, ExpireMember(group=arguments.subject[0], member=arguments.subject[1]), turn)
        return
    turn.timers.cancel(key)
    turn.environment.ready.append(key)


def _on_stall(cluster: Cluster, subject: tuple[str, ...], turn: Turn) -> bool:
    return nodes.resume(turn, int(subject[0]))


def _on_thaw(cluster: Cluster, subject: tuple[str, ...], turn: Turn) -> bool:
    return members.thaw(cluster, subject[0], subject[1])


def _on_return(cluster: Cluster, subject: tuple[str, ...], turn: Turn) -> bool:
    return acls.give_back(cluster, subject)


def _on_release(cluster: Cluster, subject: tuple[str, ...], turn: Turn) -> bool:
    return transactions.let_go(cluster, subject[0], turn)


TIMERS: Final[dict[str, Callable[[Cluster, tuple[str, ...], Turn], bool]]] = {
    "stall": _on_stall,
    "thaw": _on_thaw,
    transactions.RELEASE: _on_release,
    acls.RETURNS: _on_return,
}
"""Maps each timer of this package to its handler. A handler returns True if it did something."""
