"""DescribeUserScramCredentials (50) shows the credentials that AlterUserScramCredentials (51) set (SEC-39)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k50_describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

from ..authorizer.acl import DESCRIBE
from ..authorizer.right import Right
from ..budget import Ration, fitting
from ..java.hashes import java_hash
from ..java.orders import java_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

USER_COST: Final = 6
ABSENT: Final = "Attempt to describe a user credential that does not exist: "
TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: "

RIGHTS: Final = (Right(DESCRIBE),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer a result for each user name, in the order of Kafka's hash map of the names. Null or no names ask for all users with
    credentials."""
    asked = request.message
    assert isinstance(asked, DescribeUserScramCredentialsRequest)
    names = [user.name for user in asked.users] if asked.users else cluster.credentials.users()
    Ration(turn.settings).take_names(names, USER_COST)
    times = Counter(names)
    results = [_result(cluster, name, times[name]) for name in java_order(times, java_hash)]
    turn.reply(request.ticket, DescribeUserScramCredentialsResponse(results=results))


def _result(cluster: Cluster, name: str, times: int) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(user=name, error_code=error_codes.DUPLICATE_RESOURCE, error_message=fitting(TWICE + name))
    if infos := cluster.credentials.of(name):
        rows = [CredentialInfo(mechanism=mechanism, iterations=iterations) for mechanism, iterations in infos]
        return DescribeUserScramCredentialsResult(user=name, credential_infos=rows)
    return DescribeUserScramCredentialsResult(user=name, error_code=error_codes.RESOURCE_NOT_FOUND, error_message=fitting(ABSENT + name))


def refused(request: Request, code: int, text: str) -> DescribeUserScramCredentialsResponse | None:
    """Return a row without a name for each user of the request, or None for a request for all users, which Kafka never answers then
    (SEC-81)."""
    asked = request.message
    assert isinstance(asked, DescribeUserScramCredentialsRequest)
    if asked.users is None:
        return None
    results = [DescribeUserScramCredentialsResult(error_code=code, error_message=None) for _ in asked.users]
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=None, results=results)
