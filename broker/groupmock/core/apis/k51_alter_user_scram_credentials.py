"""AlterUserScramCredentials (51) sets and removes SCRAM credentials of users (KIP-554), with which they authenticate themselves on
listeners with SASL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

from ..authorizer.acl import ALTER
from ..authorizer.right import Right
from ..budget import Ration
from ..java.hashes import java_hash
from ..java.orders import java_order
from ..scram import Deletion, Refused, Upsertion

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

USER_COST: Final = 8

RIGHTS: Final = (Right(ALTER),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Change or refuse the credentials of each user, and answer a result for each. The others are changed where one is refused."""
    asked = request.message
    assert isinstance(asked, AlterUserScramCredentialsRequest)
    Ration(turn.settings).take_names(
        [each.name for each in asked.deletions] + [each.name for each in asked.upsertions], USER_COST
    )
    deletions = [Deletion(each.name, each.mechanism) for each in asked.deletions]
    upsertions = [Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password) for each in asked.upsertions]
    results = [_result(name, refused) for name, refused in cluster.credentials.alter(deletions, upsertions)]
    turn.reply(request.ticket, AlterUserScramCredentialsResponse(results=results))


def _result(name: str, refused: Refused | None) -> AlterUserScramCredentialsResult:
    if refused is None:
        return AlterUserScramCredentialsResult(user=name, error_message=None)
    return AlterUserScramCredentialsResult(user=name, error_code=refused.code, error_message=refused.text)


def refused(request: Request, code: int, text: str) -> AlterUserScramCredentialsResponse:
    asked = request.message
    assert isinstance(asked, AlterUserScramCredentialsRequest)
    names = [each.name for each in asked.deletions] + [each.name for each in asked.upsertions]
    return AlterUserScramCredentialsResponse(results=[_result(name, Refused(code, text)) for name in java_order(names, java_hash)])
