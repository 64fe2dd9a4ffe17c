"""The registry lists APIs without importing them, loads them at first use, and agrees with the message files."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from cases import for_each

from groupmock_codec import APIS, DecodeError, EncodeError, api_keys, messages
from groupmock_codec.declare import ANY_VERSION, Message, Wire, fields_of
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest

from .kit import types

KEYS = list(APIS)


def ran(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_and_listing_loads_no_message_and_no_construct() -> None:
    code = (
        f"import sys; from groupmock_codec import APIS; assert list(APIS) == {KEYS};"
        "assert APIS[11].name == 'JoinGroup' and APIS['Fetch'].key == 1;"
        "print([name for name in sys.modules if name.startswith(('construct', 'groupmock_codec.messages.', 'google_crc32c'))])"
    )
    assert ran(code) == "[]"


def test_reading_and_writing_loads_only_that_api_and_no_construct() -> None:
    code = (
        "import sys; from groupmock_codec import APIS; APIS[12].request.decode(0, APIS[12].request.encode(0, APIS[12].request.message()));"
        "print([name for name in sys.modules if name.startswith(('construct', 'groupmock_codec.messages.'))])"
    )
    assert ran(code) == "['groupmock_codec.messages.k12_heartbeat']"


def test_it_works_inside_a_zip(tmp_path: Path) -> None:
    import zipfile

    where = Path(messages.__file__ or "").parents[1]
    with zipfile.ZipFile(tmp_path / "codec.zip", "w") as bundle:
        for path in where.rglob("*.py"):
            bundle.write(path, path.relative_to(where.parent))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'codec.zip')!r});"
        "import groupmock_codec; assert '.zip' in groupmock_codec.__file__;"
        "from groupmock_codec import APIS; print(len(APIS), APIS['JoinGroup'].request.encode(0, APIS[11].request.message()).hex())"
    )
    assert ran(code) == f"{len(KEYS)} " + "0000" + "00000000" + "0000" + "0000" + "00000000"


def test_api_keys_are_those_of_the_message_files() -> None:
    constants = {name: key for name, key in vars(api_keys).items() if isinstance(key, int)}
    assert constants == {api.stem.split("_", 1)[1].upper(): api.key for api in APIS.values()}


@for_each("key", KEYS)
def test_file_name_key_and_name_agree(key: int) -> None:
    api = APIS[key]
    assert (api.declaration.key, api.declaration.name) == (key, api.name)
    assert APIS[api.name] is api
    assert api.stem.startswith(f"k{key:02d}_")
    assert (api.request.message.__name__, api.response.message.__name__) == (f"{api.name}Request", f"{api.name}Response")


@for_each("key", KEYS)
def test_the_head_of_a_file_tells_the_declared_versions(key: int) -> None:
    api = APIS[key]
    head = (import_module(f"{messages.__name__}.{api.stem}").__doc__ or "").splitlines()[0]
    flexible = "never flexible" if api.flexible_from is None else f"flexible from {api.flexible_from}"
    assert re.match(rf"{api.name} \(key {key}\) has versions? {api.versions}, {flexible}", head), head


def test_the_mapping_is_in_order_of_keys_and_knows_names() -> None:
    assert sorted(APIS) == KEYS
    assert 11 in APIS and "JoinGroup" in APIS and 4 not in APIS and "LeaderAndIsr" not in APIS
    assert APIS.get(4) is None and APIS.get("Nothing") is None
    with pytest.raises(KeyError):
        APIS[999]


@for_each("version", [-1, 10, 99])
def test_a_version_that_does_not_exist_is_a_decode_error(version: int) -> None:
    with pytest.raises(DecodeError, match="versions 0-9 exist"):
        APIS[11].request.decode(version, b"")


def structs(message: type[Message]) -> list[type[Message]]:
    inner = [wire for field in fields_of(message) for wire in (field.wire, field.wire.element) if isinstance(wire, Wire | type)]
    found = [wire if isinstance(wire, type) else wire.element for wire in inner]
    return [message] + [each for child in found if isinstance(child, type) for each in structs(child)]


@for_each("kind", sorted(types()))
def test_declarations_are_sound(kind: str) -> None:
    """The test checks rules that a type checker cannot: ordered versions, unique tags, null defaults only for nullable fields, and no
    empty version."""
    highest, flexible_from = types()[kind].codec.versions.highest, types()[kind].codec.flexible_from
    for message in structs(types()[kind].codec.message):
        tags = [field.number for field in fields_of(message) if field.tag]
        assert len(tags) == len(set(tags)), message
        for field in fields_of(message):
            assert 0 <= field.since <= min(field.until, highest), (message, field.name)
            assert field.until in range(highest) or field.until == ANY_VERSION, (message, field.name)
            assert field.default is not None or field.nullable_since is not None, (message, field.name)
            assert field.tag is None or max(field.since, field.tag.since) >= (flexible_from or 0), (message, field.name)


def test_newest_version_is_the_one_that_carries_the_whole_request() -> None:
    commit = APIS["OffsetCommit"].request
    named = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t")])
    assert commit.newest(named, commit.versions.highest) == 9, "version 10 has topic ids"
    assert commit.newest(named, 7) == 7
    one = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t")])
    assert APIS["OffsetFetch"].request.newest(one, 10) == 7, "version 8 has a list of groups"
    with pytest.raises(EncodeError, match="no version up to 1 carries"):
        APIS["Heartbeat"].request.newest(HeartbeatRequest(group_instance_id="i"), 1)
