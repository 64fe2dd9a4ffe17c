"""SaslHandshake (key 17) has versions 0-1, never flexible.

v1: the tokens that follow travel in SaslAuthenticate instead of raw (KIP-152).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import SASL_HANDSHAKE
from ..declare import INT16, STRING, ApiDeclaration, Message, Versions, array


class SaslHandshakeRequest(Message):
    mechanism: Annotated[str, STRING] = ""


class SaslHandshakeResponse(Message):
    error_code: Annotated[int, INT16] = 0
    mechanisms: Annotated[list[str], array(STRING)] = []


API = ApiDeclaration(SASL_HANDSHAKE, "SaslHandshake", Versions(0, 1), None, SaslHandshakeRequest, SaslHandshakeResponse)
