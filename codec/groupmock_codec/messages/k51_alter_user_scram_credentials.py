"""AlterUserScramCredentials (key 51) has version 0, flexible from 0.

v0 new (KIP-554).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ALTER_USER_SCRAM_CREDENTIALS
from ..declare import BYTES, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class ScramCredentialDeletion(Message):
    name: Annotated[str, STRING] = ""
    mechanism: Annotated[int, INT8] = 0


class ScramCredentialUpsertion(Message):
    name: Annotated[str, STRING] = ""
    mechanism: Annotated[int, INT8] = 0
    iterations: Annotated[int, INT32] = 0
    salt: Annotated[bytes, BYTES] = b""
    salted_password: Annotated[bytes, BYTES] = b""


class AlterUserScramCredentialsRequest(Message):
    deletions: Annotated[list[ScramCredentialDeletion], array(ScramCredentialDeletion)] = []
    upsertions: Annotated[list[ScramCredentialUpsertion], array(ScramCredentialUpsertion)] = []


class AlterUserScramCredentialsResult(Message):
    user: Annotated[str, STRING] = ""
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""


class AlterUserScramCredentialsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    results: Annotated[list[AlterUserScramCredentialsResult], array(AlterUserScramCredentialsResult)] = []


API = ApiDeclaration(
    ALTER_USER_SCRAM_CREDENTIALS,
    "AlterUserScramCredentials",
    Versions(0, 0),
    0,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
