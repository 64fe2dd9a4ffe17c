"""A member of a dialogue authenticates itself by requests on its own connection."""

from __future__ import annotations

from typing import Any, Final

from groupmock.security.client_side import unsecured_token
from groupmock.security.login import LoginFailed, log_in, login
from groupmock_codec import APIS
from groupmock_codec.declare import Message

from .contract import Closed, Opening, Refused, Stage

PATIENCE_MS: Final = 5000
TOKEN_MS: Final = 3_600_000


def let_in(stage: Stage, member: str, opening: Opening, passwords: dict[str, str]) -> None:
    """Authenticate a member by requests on its connection. `passwords` has the users that the dialogue has made, who know SCRAM; others
    know PLAIN. Raises Refused."""
    assert opening.user is not None
    mechanism = opening.mechanism or ("SCRAM-SHA-256" if opening.user in passwords else "PLAIN")
    if mechanism == "OAUTHBEARER":
        secret = unsecured_token(opening.user, (stage.wall_ms() + TOKEN_MS) // 1000)
    else:
        known = passwords.get(opening.user, stage.known.get(opening.user))
        if known is None:
            raise Refused(f"the probe knows no password of {opening.user}")
        secret = known

    def ask(key: int, version: int, message: Message) -> Any:
        stage.send(member, key, version, "probe", message)
        answer = stage.answer(member, PATIENCE_MS)
        if answer is None:
            raise Refused(f"no answer to {APIS[key].name}")
        return answer.message

    try:
        log_in(login(mechanism, opening.user, secret), ask)
    except LoginFailed as why:
        raise Refused(str(why)) from None
    except Closed:
        raise Refused("the connection was closed instead of an answer") from None
