"""DescribeUserScramCredentials (key 50): version 0, flexible from 0 (KIP-554)."""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_USER_SCRAM_CREDENTIALS
from ..declare import INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class UserName(Message):
    name: Annotated[str, STRING] = ""


class DescribeUserScramCredentialsRequest(Message):
    """Request half of DescribeUserScramCredentials. `users` null or empty: all."""

    users: Annotated[list[UserName] | None, array(UserName), nullable()] = []


class CredentialInfo(Message):
    mechanism: Annotated[int, INT8] = 0
    iterations: Annotated[int, INT32] = 0


class DescribeUserScramCredentialsResult(Message):
    user: Annotated[str, STRING] = ""
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    credential_infos: Annotated[list[CredentialInfo], array(CredentialInfo)] = []


class DescribeUserScramCredentialsResponse(Message):
    """Response half of DescribeUserScramCredentials."""

    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    results: Annotated[list[DescribeUserScramCredentialsResult], array(DescribeUserScramCredentialsResult)] = []


API = ApiDeclaration(
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    "DescribeUserScramCredentials",
    Versions(0, 0),
    0,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
