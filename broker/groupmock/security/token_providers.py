"""Objects that give aiokafka and kafka-python the bearer tokens of a user."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final
from urllib.request import Request, urlopen

from .client_side import unsecured_token

if TYPE_CHECKING:
    from .client_settings import ClientSecurity

LASTS_S: Final = 3600
PATIENCE_S: Final = 10.0


def token_of(security: ClientSecurity) -> str:
    """Ask the token endpoint for a token, or make an unsecured one without an endpoint. Raises OSError."""
    if security.token_endpoint is None:
        return unsecured_token(security.user or "", time.time() + LASTS_S)
    secret = b64encode(f"{security.user}:{security.password}".encode()).decode()
    asked = Request(security.token_endpoint, b"grant_type=client_credentials", {"Authorization": f"Basic {secret}"})
    with urlopen(asked, timeout=PATIENCE_S) as answer:
        return str(json.load(answer)["access_token"])


def aiokafka_provider(security: ClientSecurity) -> Any:
    from aiokafka.abc import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # the library has no types
        async def token(self) -> str:
            return await asyncio.to_thread(token_of, security)

    return Provider()


def kafka_python_provider(security: ClientSecurity) -> Any:
    try:
        from kafka.net.sasl.oauth import AbstractTokenProvider
    except ImportError:  # Before release 3.0
        from kafka.sasl.oauth import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # the library has no types
        def token(self) -> str:
            return token_of(security)

    return Provider()
