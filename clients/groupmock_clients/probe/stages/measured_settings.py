"""Find out settings that a broker does not tell by trying: the initial delay, and the accepted session timeouts."""

from __future__ import annotations

import time
from typing import Final

from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.wire import Unreadable
from groupmock_codec.api_keys import JOIN_GROUP
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED
from groupmock_codec.messages.k11_join_group import JoinGroupResponse

from ..language.exchange import BASE_SETTINGS
from ..language.scope import DELAY, MAX_SESSION, MIN_SESSION
from .contract import Closed
from .tcp_broker import TcpBroker
from .tcp_stage import TcpStage

HIGHEST_UNFLEXIBLE: Final = 5
# A session timeout outside the broker's range is refused with INVALID_SESSION_TIMEOUT (26) before the group is created (SERVER-06).
REFUSED: Final = 26
LIMIT_MS: Final = 20_000
SESSIONS_MS: Final = (100, 1000, 6000, 10_000)
MAX_SESSIONS_MS: Final = (1_800_000, 300_000)
ROUND_MS: Final = 100


def measured(broker: TcpBroker) -> dict[str, str]:
    """Return the settings of groups that were measured because the broker does not tell them."""
    found: dict[str, str] = {}
    if broker.versions(JOIN_GROUP) is None:
        return found
    if MIN_SESSION not in broker.settings:
        accepted = next((each for each in SESSIONS_MS if _accepts(broker, each)), SESSIONS_MS[-1])
        found[MIN_SESSION] = str(accepted)
    if MAX_SESSION not in broker.settings:
        found[MAX_SESSION] = str(next((each for each in MAX_SESSIONS_MS if _accepts(broker, each)), MAX_SESSIONS_MS[-1]))
    if DELAY not in broker.settings:
        found[DELAY] = str(_delay_ms(broker))
    if "group.max.size" not in broker.settings:
        found["group.max.size"] = BASE_SETTINGS["group.max.size"]
    return found


def _accepts(broker: TcpBroker, session_ms: int) -> bool:
    answer = _Joiner(broker, session_ms).join()
    return answer is None or answer[0].error_code != REFUSED


def _delay_ms(broker: TcpBroker) -> int:
    """Measure how long the first join of a group takes, in steps of 100 ms."""
    answer = _Joiner(broker, 10_000).join()
    return 0 if answer is None else round(answer[1] / ROUND_MS) * ROUND_MS


class _Joiner:
    """A member of a new group that sends JoinGroup only."""

    def __init__(self, broker: TcpBroker, session_ms: int) -> None:
        self._broker, self._session_ms = broker, session_ms

    def join(self) -> tuple[JoinGroupResponse, float] | None:
        """Return the answer to the join (to the second one if the broker assigns an id first) and its duration in ms, or None without an
        answer."""
        stage = TcpStage(self._broker)
        try:
            member = ClassicMember(self._broker.group(), topics=["t"], session_ms=self._session_ms, rebalance_ms=self._session_ms)
            first = self._ask(stage, member)
            return self._ask(stage, member) if first is not None and member.joined(first[0]) == MEMBER_ID_REQUIRED else first
        finally:
            stage.close()

    def _ask(self, stage: TcpStage, member: ClassicMember) -> tuple[JoinGroupResponse, float] | None:
        version = self._broker.best(JOIN_GROUP, HIGHEST_UNFLEXIBLE) or 0
        began = time.monotonic()
        request = member.join_request()
        if version < 1:  # JoinGroup v0 has no rebalance timeout.
            request.rebalance_timeout_ms = -1
        stage.send("probe", JOIN_GROUP, version, "probe", request)
        try:
            answer = stage.answer("probe", LIMIT_MS)
        except (Closed, Unreadable):
            return None
        if answer is None or not isinstance(answer.message, JoinGroupResponse):
            return None
        return answer.message, (time.monotonic() - began) * 1000
