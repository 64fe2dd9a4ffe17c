"""The schema of every journal row (docs/reference/architecture.md#journal-version-1). JSON, docs and Spark's schema are made from these
classes.

Times are ns since the header's `epoch_ns`, and `seq` counts from 1 without gaps. A row is written without the fields that have their
default value. `message` is a request or response of the codec with Kafka's field names in snake_case, and is read back as a plain dict.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, get_type_hints

import msgspec
from msgspec import Meta

VERSION: Final = 1
MOST_ERRORS: Final = 100
"""A row lists at most this many errors of an answer by their paths."""
END: Final = "end"
"""The `what` of the note that is the last row of a properly closed journal."""
NOT_READING: Final = "the peer does not read its answers: it is not served until it does"
CANNOT_ACCEPT: Final = "cannot accept connections"
DISCONNECTED: Final = "disconnected"
"""The `what` of a note, in complete journals, that the core now learned of the end of a connection that the server closed."""
PAUSES: Final = "work pauses"
"""The `what` of a note, in complete journals, that a time slice ended before all of its work was done. `slice` is its number in the run,
`steps` how many steps it had."""
GOES_ON: Final = "work goes on"
"""The `what` of a note, in complete journals, that a later time slice continues unfinished work. The rows after it are of that work."""
AUTHENTICATED: Final = "authenticated"
"""The `what` of a note that the client of a connection has authenticated itself. `principal` is who it is, `session_ms` the time after
which it has to do so `again`."""
LEFT_OUT: Final = "the journal is full: rows are left out"
"""The `what` of the last note in a journal file that reached its size limit. `first` is the number of the first missing row, and `rows`,
once the run is over, is how many are missing. The note's own number is that of the row it replaces."""
NOT_SERVED: Final = "{api} version {version} is not served: {lowest} to {highest} are"
"""The `reason` of a close row for an API version that is not advertised. Kafka closes the connection, and so does groupmock."""
TLS_HELLO: Final = (
    "a TLS hello instead of a request: this listener has no TLS: set security.protocol=PLAINTEXT in the client (SASL_PLAINTEXT with SASL), "
    "or connect to a TLS listener"
)
HTTP_REQUEST: Final = "an HTTP request instead of Kafka's: this is the port of a broker; the control API has one of its own"
"""The `reason` of a close row for a peer that speaks another protocol."""
NO_SASL: Final = (
    "this listener has no SASL: set security.protocol=PLAINTEXT in the client, or connect to a listener with SASL "
    "(--listener SASL=SASL_PLAINTEXT://127.0.0.1:0)"
)
NO_ACLS: Final = (
    "this cluster has no authorizer, so that everybody may do everything: for ACLs start it with "
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
)
_NO_STREAMS_GROUPS: Final = (
    "this release of Kafka has no streams groups (KIP-1071): set group.protocol=classic in the Streams application, or use another profile"
)
REMEDIES: Final[dict[int, str]] = {17: NO_SASL, 36: NO_SASL, 29: NO_ACLS, 30: NO_ACLS, 31: NO_ACLS}
"""Maps each API key that needs a feature that groupmock lacks to the remedy that a row names."""
OF_SASL_LISTENERS: Final = ("UNSUPPORTED_SASL_MECHANISM", "SASL_AUTHENTICATION_FAILED")
"""Errors with which only a listener that has SASL refuses a client."""
UNSERVED: Final[dict[int, str]] = {
    88: f"StreamsGroupHeartbeat: {_NO_STREAMS_GROUPS}",
    89: f"StreamsGroupDescribe: {_NO_STREAMS_GROUPS}",
    93: f"StreamsGroupTopologyDescriptionUpdate: {_NO_STREAMS_GROUPS}",
}
"""The `reason` of a close row for each API key that is not served in every profile, and that clients may ask for all the same."""
ASKED_TO_STOP: Final = "asked to stop"
"""The `what` of a client row: the process of client id `client` was asked to end in good order, which the wire cannot tell from a crash."""
NODE_STALLED: Final = "node_stalled"
NODE_RESUMED: Final = "node_resumed"
"""The `what` of notes about a stalled node: after `node_stalled` it handles nothing and sends no answer until `node_resumed`."""
SURROUNDINGS: Final = (END, NOT_READING, CANNOT_ACCEPT)
"""The `what` of notes about the environment, which a replay copies as they are."""


def about(text: str) -> Meta:
    """Return a description of a field, one sentence, as metadata for msgspec."""
    return Meta(description=text)


class Header(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The first line of a journal."""

    v: Annotated[int, about("version of this format")]
    run: Annotated[str, about("name of the run")]
    product: Annotated[str, about("who wrote it, with its version")]
    seed: Annotated[int, about("seed of every id that was drawn")]
    epoch_ns: Annotated[int, about("wall clock at run time 0, ns since 1970")]
    profile: Annotated[str, about("whose versions, defaults and quirks")]
    config: Annotated[dict[str, Any], about("every setting of the run")]
    complete: Annotated[bool, about("replay is possible: whole frames, commands and timer calls are here")]
    incomplete_because: Annotated[str | None, about("why replay is not possible")] = None
    cluster: Annotated[dict[str, Any] | None, about("what the core was made of: settings, identity, epoch_ms")] = None


class Row(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False, tag_field="kind"):
    """All rows have these fields; `kind` says which class a row is."""

    seq: Annotated[int, about("number of the row, from 1")] = 0
    t: Annotated[int, about("when, ns since epoch_ns")]
    node: Annotated[int | None, about("id of the node it happened on, where it happened on one")] = None


class OpenRow(Row, tag="open", kw_only=True):
    """A client opened a connection."""

    connection: Annotated[int, about("number of the connection in this run")]
    client_host: Annotated[str, about("as Java prints an address: /10.0.0.7")]
    client_port: Annotated[int, about("the client's port")]
    listener: Annotated[str, about("name of the listener")] = "PLAINTEXT"


class CloseRow(Row, tag="close", kw_only=True):
    """A connection was closed by the client or the server; it has one such row, with the reason."""

    connection: Annotated[int, about("number of the connection")]
    by: Annotated[str, about("client or server")]
    reason: Annotated[str, about("why, in a sentence")]
    cut_bytes: Annotated[int, about("bytes that had come of a frame that never became whole")] = 0
    unread_bytes: Annotated[int, about("bytes of requests that were never looked at")] = 0


class FramePlace(Row, kw_only=True):
    """The fields that request, reply and abandoned rows share."""

    connection: Annotated[int, about("number of the connection")]
    ticket: Annotated[int, about("number of the request in this run; its reply has the same")]
    correlation_id: Annotated[int, about("the client's own number of the request")]
    api_key: Annotated[int, about("Kafka's number of the API")]
    api_name: Annotated[str, about("Kafka's name of the API")]
    api_version: Annotated[int, about("version of the request")]


class Payload(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Record bytes above 1 KiB that were left out of `message`."""

    path: Annotated[str, about("where they were: topic_data[0].partition_data[1].records")]
    length: Annotated[int, about("how many bytes")]
    digest: Annotated[str | None, about("sha256 in hex, where a sink wanted it")] = None


class ErrorAt(msgspec.Struct, kw_only=True):
    """An error in an answer with its path."""

    path: Annotated[str, about("where it stands: topics[0].partitions[1].error_code")]
    error: Annotated[str, about("Kafka's name of it")]


class RequestRow(FramePlace, tag="request", kw_only=True):
    """A request was decoded and handled."""

    client_id: Annotated[str | None, about("as the client calls itself")] = None
    received: Annotated[int, about("when its last byte came")]
    handled: Annotated[int, about("when the core saw it: later if it waited behind another one")]
    size: Annotated[int, about("bytes of the frame without its length")]
    message: Annotated[Any, about("the decoded request")] = None
    trailing_bytes: Annotated[int, about("bytes after the end of the message, ignored as Kafka does")] = 0
    note: Annotated[str | None, about("what was unusual about it")] = None
    embedded: Annotated[dict[str, Any] | None, about("decoded copy of subscriptions or assignments inside, by path")] = None
    payloads: Annotated[list[Payload] | None, about("record bytes left out of the message")] = None
    by_listener: Annotated[bool, about("true: it belongs to the authentication, and the core never saw it")] = False
    raw: Annotated[bytes | None, about("the whole frame without its length; in complete journals")] = None


class ReplyRow(FramePlace, tag="reply", kw_only=True):
    """A request was answered, or a fault rule kept its answer back."""

    waited: Annotated[int, about("ns between handling the request and this")] = 0
    written: Annotated[int | None, about("time of the event that wrote it to the connection; null: later, or unknown")] = None
    size: Annotated[int, about("bytes of the frame without its length")]
    delivered: Annotated[bool, about("false: the connection was gone, or a fault rule took the answer")] = True
    error: Annotated[str | None, about("Kafka's name of the first error: of the whole, else of a topic, partition, group, ... inside")] = (
        None
    )
    errors: Annotated[list[ErrorAt] | None, about("all errors by path, the first 100; journals of older versions have none")] = None
    errors_left_out: Annotated[int, about("how many more there are")] = 0
    message: Annotated[Any, about("the response; null: none is due (acks 0)")] = None
    embedded: Annotated[dict[str, Any] | None, about("decoded copy of subscriptions or assignments inside, by path")] = None
    payloads: Annotated[list[Payload] | None, about("record bytes left out of the message")] = None


def remedy_of(row: ReplyRow) -> str | None:
    """Return the remedy for an answer that refuses what this cluster does not have, or None. With an authorizer the APIs of ACLs have
    errors of other kinds."""
    lacking = row.error == "SECURITY_DISABLED" or (bool(row.error) and REMEDIES.get(row.api_key) != NO_ACLS)
    return REMEDIES.get(row.api_key) if lacking and row.error not in OF_SASL_LISTENERS else None


class AbandonedRow(FramePlace, tag="abandoned", kw_only=True):
    """A request will never be answered, and its connection stays mute, as in Kafka."""

    reason: Annotated[str, about("why, in a sentence")]


class MovedRow(Row, tag="moved", kw_only=True):
    """A group changed its state."""

    group: Annotated[str, about("group id")]
    before: Annotated[str, about("state before")]
    after: Annotated[str, about("state after")]
    generation: Annotated[int, about("generation after the move")]
    cause: Annotated[str | None, about("why, in a word (below); journals written before there were words have none")] = None
    reason: Annotated[str, about("who or what caused it, in a sentence")]
    leader: Annotated[str | None, about("member id of the leader")] = None
    protocol_type: Annotated[str | None, about("consumer, connect, ...")] = None
    protocol_name: Annotated[str | None, about("the assignor that was voted for")] = None
    members: Annotated[int, about("members after the move")] = 0


class MemberRow(Row, tag="member", kw_only=True):
    """Something happened to one member of a group."""

    group: Annotated[str, about("group id")]
    member_id: Annotated[str, about("member id")]
    what: Annotated[
        str, about("reserved, added, replaced, updated, removed, refused, led; in consumer groups revoking, reconciled, away, fenced")
    ]
    cause: Annotated[str | None, about("why, in a word (below); journals written before there were words have none")] = None
    reason: Annotated[str, about("why, in a sentence")]
    group_instance_id: Annotated[str | None, about("static member's name")] = None
    client_id: Annotated[str | None, about("as the client calls itself")] = None
    client_host: Annotated[str | None, about("where it connected from")] = None


class TimerRow(Row, tag="timer", kw_only=True):
    """The deadline of a timer passed. Without `timer`, timers were checked and none was due after all (a replay needs to know)."""

    timer: Annotated[str | None, about("its name, one of those that `POST /v1/clock/jump` takes (docs/reference/control.md)")] = None
    subject: Annotated[tuple[str, ...], about("what it was set for, as group and member id")] = ()


class FaultRow(Row, tag="fault", kw_only=True):
    """A fault rule did something, or a request that it delayed continued."""

    rule: Annotated[str, about("name of the rule")]
    stage: Annotated[str, about("connect, request or reply")]
    action: Annotated[str, about("the kind of fault; over or released: the wait of the call is over")]
    connection: Annotated[int | None, about("to which connection")] = None
    ticket: Annotated[int | None, about("to which request")] = None
    fields: Annotated[dict[str, Any], about("details of this kind of fault; `struck`: which part of the request")] = {}


class CommandRow(Row, tag="command", kw_only=True):
    """A command steered the cluster or its fault rules."""

    name: Annotated[str, about("name of the command")]
    arguments: Annotated[dict[str, Any], about("its arguments; bytes as base64")]


class ClientRow(Row, tag="client", kw_only=True):
    """Something that a client says about itself, either as part of a scenario or by a test's call of `client_says`."""

    client: Annotated[str, about("which client")]
    what: Annotated[str, about("what happened")]
    fields: Annotated[dict[str, Any], about("details")] = {}


class NoteRow(Row, tag="note", kw_only=True):
    """An event that is not part of the protocol but deserves a row. See `END`."""

    what: Annotated[str, about("what happened, in a word or a sentence")]
    fields: Annotated[dict[str, Any], about("details")] = {}


class FindingRow(Row, tag="finding", kw_only=True):
    """A client broke a rule, according to the audit that runs beside the server (`serve --audit`). The audit derives this row from other
    rows; a replay copies it."""

    rule: Annotated[str, about("code of the rule: `groupmock explain CODE`")]
    severity: Annotated[str, about("error or warning")]
    group: Annotated[str | None, about("group id; null: a connection's")] = None
    member: Annotated[str | None, about("who: client id and four characters of the member id")] = None
    member_id: Annotated[str | None, about("member id")] = None
    client_id: Annotated[str | None, about("as the client calls itself")] = None
    happened: Annotated[int, about("when the client did it, ns since epoch_ns; `t`: when that was plain")]
    sentence: Annotated[str, about("what the client did")]
    instead: Annotated[str, about("what would have been right")]
    rows: Annotated[tuple[int, ...], about("numbers of the rows that show it, where somebody keeps them")] = ()
    waived: Annotated[str | None, about("the reason of the waiver that covers it")] = None


ROWS: Final[dict[str, type[Row]]] = {
    str(row.__struct_config__.tag): row
    for row in (
        OpenRow, CloseRow, RequestRow, ReplyRow, AbandonedRow, MovedRow, MemberRow, TimerRow, FaultRow, CommandRow, ClientRow, NoteRow,
        FindingRow,
    )
}  # fmt: skip
KINDS: Final = tuple(ROWS)


def kind_of(row: Row | type[Row]) -> str:
    """Return the kind of a row or of a class of rows, such as request or moved."""
    return str(row.__struct_config__.tag)


def documentation(kind: str) -> dict[str, str]:
    """Return the documentation of each field of a kind, in order."""
    hints = get_type_hints(ROWS[kind], include_extras=True)
    return {name: hints[name].__metadata__[0].description for name in ROWS[kind].__struct_fields__}
