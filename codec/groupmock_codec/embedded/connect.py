"""The embedded protocol `connect` has worker metadata and assignments, in versions 0 (eager), 1 (KIP-415) and 2 (KIP-507, same as 1)
(docs/kafka/embedded-protocols.md#kafka-connect).

From v1 on assignments are incremental, and a worker's metadata has its whole current assignment, version included. Missing fields at the
end are read as null or 0, as in Connect.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from ..declare import BYTES, INT16, INT32, INT64, STRING, Message, Versions, array, nullable, since
from ..errors import DecodeError, EncodeError, Place, TooManyElements
from ..registry import Codec
from .consumer import READ_ELEMENTS

HIGHEST: Final = 2
CONNECTOR: Final = -1  # In a Connect assignment's list of tasks, this number means the connector instance itself.
CONFIG_MISMATCH: Final = 1
M = TypeVar("M", bound=Message)


class ConnectorTasks(Message):
    """The tasks of one connector on a worker. CONNECTOR stands for the connector instance and is first if present."""

    connector: Annotated[str, STRING] = ""
    tasks: Annotated[list[int], array(INT32)] = []


class WorkerMetadata(Message):
    """The metadata that a worker sends in its JoinGroup. `allocation` has the bytes of an Assignment of the same version."""

    version: Annotated[int, INT16] = HIGHEST
    url: Annotated[str, STRING] = ""
    config_offset: Annotated[int, INT64] = 0
    allocation: Annotated[bytes | None, BYTES, nullable(), since(1)] = None


class WorkerAssignment(Message):
    """The assignment that the leader sends to a worker. In v0 it is the whole one; later `assigned` is what is new and `revoked` what
    has to stop. `delay` is in ms."""

    version: Annotated[int, INT16] = HIGHEST
    error: Annotated[int, INT16] = 0
    leader: Annotated[str, STRING] = ""
    leader_url: Annotated[str, STRING] = ""
    config_offset: Annotated[int, INT64] = 0
    assigned: Annotated[list[ConnectorTasks] | None, array(ConnectorTasks), nullable(1)] = []
    revoked: Annotated[list[ConnectorTasks] | None, array(ConnectorTasks), nullable(), since(1)] = None
    delay: Annotated[int, INT32, since(1)] = 0


METADATA: Final = Codec(WorkerMetadata, Versions(0, HIGHEST), None)
ASSIGNMENT: Final = Codec(WorkerAssignment, Versions(0, HIGHEST), None)
NULL: Final = b"\xff\xff\xff\xff"
MISSING_METADATA: Final = (NULL,)
MISSING_ASSIGNMENT: Final = (bytes(4), NULL + bytes(4), NULL + NULL + bytes(4))


def decode_metadata(data: bytes) -> WorkerMetadata:
    """Decode the metadata of a worker. Raises DecodeError for a version that is not 0-2, cut fields, wrong lengths and more than
    READ_ELEMENTS."""
    return _decode(METADATA, data, MISSING_METADATA)


def decode_assignment(data: bytes) -> WorkerAssignment:
    """Decode the assignment of a worker. Raises DecodeError for a version that is not 0-2, cut fields, wrong lengths and more than
    READ_ELEMENTS."""
    return _decode(ASSIGNMENT, data, MISSING_ASSIGNMENT)


def encode_metadata(message: WorkerMetadata) -> bytes:
    """Encode a worker's metadata in the version that its field `version` names."""
    return METADATA.encode(_writable(message.version), message)


def encode_assignment(message: WorkerAssignment) -> bytes:
    """Encode a worker's assignment in the version that its field `version` names."""
    return ASSIGNMENT.encode(_writable(message.version), message)


def _decode(codec: Codec[M], data: bytes, missing: tuple[bytes, ...]) -> M:
    version = int.from_bytes(data[:2], signed=True)
    if len(data) < 2 or version not in codec.versions:
        reason = f"version {version} is not {codec.versions}" if len(data) >= 2 else "no version"
        raise DecodeError("embedded Connect protocol cannot be read", Place(reason, "version"))
    try:
        return codec.decode(version, data, trailing=True, max_elements=READ_ELEMENTS)
    except TooManyElements:
        raise
    except DecodeError:
        for fill in missing if version > 0 else ():
            try:
                return codec.decode(version, data + fill, max_elements=READ_ELEMENTS)
            except DecodeError:
                continue
        raise


def _writable(version: int) -> int:
    if not 0 <= version <= HIGHEST:
        raise EncodeError("embedded Connect protocol cannot be written", Place(f"version {version} is not 0-{HIGHEST}", "version"))
    return version
