"""The fault `end_session` ends the SASL session of a connection, as if its token had expired."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec import APIS
from groupmock_codec.api_keys import SASL_AUTHENTICATE, SASL_HANDSHAKE

from ..actions import HangUp
from ..decide import FailedCondition
from ..facts import Facts
from ..kind import Fault, Target
from ..plan import When


class EndSession(Fault, tag="end_session", frozen=True, kw_only=True):
    """End the SASL session of the connection, as if the client's token or `connections.max.reauth.ms` were over: this request is not
    applied, and the connection is closed at once without an answer, as Kafka does. The client has to connect and authenticate itself
    again. Only a client that has authenticated itself by SASL has a session."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    SECURED: ClassVar[bool] = True

    def goes_on(self, stage: str) -> bool:
        """Return False, because no connection is left for later rules."""
        return False

    def cannot(self, stage: str, api: str, version: int, when: When) -> str | None:
        """Refuse the requests with which a client begins or renews its session."""
        own = (APIS[SASL_HANDSHAKE].name, APIS[SASL_AUTHENTICATE].name)
        return f"it begins a session: say another api than {' and '.join(own)}" if api in own else None

    def lacks(self, facts: Facts) -> FailedCondition | None:
        return None if facts.authenticated else FailedCondition("authenticated", True, False)

    def act(self, target: Target) -> HangUp:
        return HangUp(reset=False, why="the SASL session has ended")


KIND = EndSession
