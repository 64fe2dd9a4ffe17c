"""DescribeUserScramCredentials (50): nobody has any (SEC-39)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

from ..budget import Ration, fitting
from ..java.hashes import java_hash
from ..java.orders import java_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

USER_COST: Final = 6  # core.budget
ABSENT: Final = "Attempt to describe a user credential that does not exist: "
TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: "


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Null or no names: all, which are none. A result for each name, in the order of a map of them; 2.8 keeps that of the request."""
    asked = request.message
    assert isinstance(asked, DescribeUserScramCredentialsRequest)
    names = [user.name for user in asked.users or ()]
    Ration(turn.settings).take_names(names, USER_COST)
    times = Counter(names)
    order = list(times) if turn.quirks.zookeeper_admin else java_order(times, java_hash)
    results = [_result(name, times[name], turn.quirks.zookeeper_admin) for name in order]
    turn.reply(request.ticket, DescribeUserScramCredentialsResponse(results=results))


def _result(name: str, times: int, old: bool) -> DescribeUserScramCredentialsResult:
    """`old`: in the words of 2.8."""
    if times > 1:
        return DescribeUserScramCredentialsResult(user=name, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=fitting(TWICE + name))
    why = "Username must not be empty" if old and not name else fitting(ABSENT + name)
    return DescribeUserScramCredentialsResult(user=name, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=why)
