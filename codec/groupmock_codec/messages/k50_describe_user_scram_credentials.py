"""DescribeUserScramCredentials (key 50) has version 0, flexible from 0 (KIP-554)."""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_USER_SCRAM_CREDENTIALS
from ..declare import INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class UserName(Message):
    name: Annotated[str, STRING] = ""


class DescribeUserScramCredentialsRequest(Message):
    """Null or no `users` ask for all users."""

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
