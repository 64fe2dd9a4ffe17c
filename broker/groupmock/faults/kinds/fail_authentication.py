"""The fault `fail_authentication` refuses a client that authenticates itself, whatever its credentials are."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec import APIS
from groupmock_codec.api_keys import SASL_HANDSHAKE

from ..actions import Unwelcome
from ..decide import FailedCondition
from ..facts import Facts
from ..kind import Fault, Target
from ..plan import When


class FailAuthentication(Fault, tag="fail_authentication", frozen=True, kw_only=True):
    """Refuse the client at the end of the authentication that begins with this SaslHandshake, as Kafka refuses a wrong password or an
    expired token: with SASL_AUTHENTICATION_FAILED (58), the text of the mechanism and the pause, then the connection is closed. With
    `authenticated = true` it is a re-authentication that is refused. Only listeners with SASL have authentications."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    SECURED: ClassVar[bool] = True

    def cannot(self, stage: str, api: str, version: int, when: When) -> str | None:
        """Refuse all APIs except the one that begins an authentication."""
        begins = APIS[SASL_HANDSHAKE].name
        return None if api == begins else f"it begins no authentication: say api = '{begins}'"

    def lacks(self, facts: Facts) -> FailedCondition | None:
        return None if facts.sasl else FailedCondition("listener", "one with SASL", facts.listener)

    def act(self, target: Target) -> Unwelcome:
        return Unwelcome()


KIND = FailAuthentication
