"""SaslAuthenticate (key 36) has versions 0-2, flexible from 2.

v0 new (KIP-152). v1 how long the session lives (KIP-368). v2 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import SASL_AUTHENTICATE
from ..declare import BYTES, IGNORABLE, INT16, INT64, STRING, ApiDeclaration, Message, Versions, nullable, since


class SaslAuthenticateRequest(Message):
    auth_bytes: Annotated[bytes, BYTES] = b""


class SaslAuthenticateResponse(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    auth_bytes: Annotated[bytes, BYTES] = b""
    session_lifetime_ms: Annotated[int, INT64, since(1), IGNORABLE] = 0


API = ApiDeclaration(SASL_AUTHENTICATE, "SaslAuthenticate", Versions(0, 2), 2, SaslAuthenticateRequest, SaslAuthenticateResponse)
