"""The JoinGroup v4 grammar in tests/data/join_group_v4_grammar.txt equals the layout of the codec's v4."""

from __future__ import annotations

import re

from cases import for_each

from groupmock_codec import APIS
from groupmock_codec.declare import Message, fields_of

from .kit import DATA

TEXT = (DATA / "join_group_v4_grammar.txt").read_text()
RENAMED = {  # The grammar has field names of 2019, and Kafka's schemas have other names since 2.4.
    "session_timeout": "session_timeout_ms",
    "rebalance_timeout": "rebalance_timeout_ms",
    "group_protocols": "protocols",
    "protocol_metadata": "metadata",
    "group_protocol": "protocol_name",
    "leader_id": "leader",
    "member_metadata": "metadata",
}
Layout = list[tuple[str, object]]


def printed(half: str) -> Layout:
    """Return the grammar of the Request or Response as (name, type or nested layout), with today's names."""
    block = re.search(rf"^JoinGroup {half} \(Version: 4\) => (.*)\n((?: +.*\n)+)", TEXT, re.MULTILINE)
    assert block
    rules = dict(line.strip().split(" => ") for line in block[2].splitlines())
    return [named(token, rules) for token in block[1].split()]


def named(token: str, rules: dict[str, str]) -> tuple[str, object]:
    """Return the name and type of a field; `[x]` is an array, and a rule of several names is a struct."""
    name = token.strip("[]")
    right = rules[name]
    kind: object = right if right.isupper() else [named(each, rules) for each in right.split()]
    ours = "name" if name == "protocol_name" and "group_protocols" in rules else RENAMED.get(name, name)
    return ours, ["array", kind] if token.startswith("[") else kind


def declared(message: type[Message]) -> Layout:
    """Return the layout of a codec message in the form of the grammar."""
    return [(field.name, shape(field.wire)) for field in fields_of(message) if field.present(4)]


def shape(wire: object) -> object:
    """Return a wire type in the notation of the grammar."""
    kind, element = wire.kind, wire.element  # type: ignore[attr-defined]
    if kind == "array":
        return ["array", declared(element) if isinstance(element, type) else shape(element)]
    return kind.upper()


@for_each("half", ["Request", "Response"])
def test_join_group_v4_is_laid_out_as_the_seed_prints_it(half: str) -> None:
    assert declared(getattr(APIS["JoinGroup"], half.lower()).message) == printed(half)


def test_v4_bytes_written_by_hand_after_the_grammar() -> None:
    from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol

    head = bytes.fromhex("0001 67 00002710 0000ea60 0000 0008") + b"consumer"
    by_hand = head + bytes.fromhex("00000001 0005") + b"range" + bytes.fromhex("00000002 0000")
    request = JoinGroupRequest("g", 10000, 60000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"\0\0")])
    assert APIS[11].request.encode(4, request) == by_hand
    assert APIS[11].request.decode(4, by_hand) == request
