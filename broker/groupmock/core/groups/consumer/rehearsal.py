"""Handle a request with a copy of a consumer group first, if an assignor may fail.

Kafka's assignors throw if a member's old target has partitions that do not exist, as the leader of a classic group may assign them. The
request is then answered UNKNOWN_SERVER_ERROR (-1), and Kafka undoes all that it has done for it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy

from ...dice import Dice
from ...timers import Timers
from ...turn import Turn
from ...work import Work
from ..refused import Refused
from .assignors import NoTarget
from .classic_members import JoinRefused
from .group import Group


class _Blank:
    """Bits for the ids that are drawn with the copy."""

    def getrandbits(self, k: int, /) -> int:
        return 0

    def seed(self, seed: int, /) -> None: ...


def fails(turn: Turn, group: Group, act: Callable[[Turn, Group], None]) -> bool:
    """Tell whether an assignor fails if `act` handles a request, for which it gets a copy of the group and a turn without effects. A
    request that is refused does not get as far."""
    environment = copy(turn.environment)
    environment.timers, environment.busy, environment.dice = Timers(), [], Dice(_Blank())
    scratch = Turn(environment, turn.now, [])
    kept = (group.home, group.offsets, *group.matchers.values())
    try:
        act(scratch, deepcopy(group, {id(each): each for each in kept}))
        for work in scratch.out:
            if isinstance(work, Work):
                for _ in work.steps:
                    pass
    except NoTarget:
        return True
    except (Refused, JoinRefused):
        return False
    return False
