"""The code of generated codecs is kept in files for later processes, and only as long as it is what the declarations say."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from groupmock_codec import APIS, compiled, kept_code
from groupmock_codec.emit_decode import DecodeSource
from groupmock_codec.emit_encode import EncodeSource
from groupmock_codec.errors import EncodeError
from groupmock_codec.kept_code import KeptCode
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol

MODULE = JoinGroupRequest.__module__
JOIN = JoinGroupRequest(group_id="g", member_id="m", protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"\0\1")])
TITLES = ("JoinGroupRequest v5 encode", "JoinGroupRequest v5 decode", "JoinGroupRequest v9 decode 100")


@pytest.fixture(autouse=True)
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python keep byte code in a folder of this test."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], KeptCode]:
    """Return a function that forgets all codecs and kept code, as a new process would, and returns the kept code of JoinGroup."""

    def started() -> KeptCode:
        kept = KeptCode(MODULE)
        monkeypatch.setattr(compiled, "kept_code", lambda module: kept)
        return kept

    return started


def codecs() -> tuple[bytes, JoinGroupRequest, JoinGroupRequest]:
    """Make the three functions anew, and return what they make of a JoinGroup."""
    data = compiled.encoder.__wrapped__(JoinGroupRequest, 5, False)(JOIN)
    flexible = APIS[11].request.encode(9, JOIN)
    decode, limited = compiled.decoder.__wrapped__, compiled.decoder.__wrapped__
    return data, decode(JoinGroupRequest, 5, False)(data, 0)[0], limited(JoinGroupRequest, 9, True, 100)(flexible, 0)[0]


def test_kept_code_does_what_generated_code_does(process: Callable[[], KeptCode], monkeypatch: pytest.MonkeyPatch) -> None:
    first = process()
    assert not any(title in first for title in TITLES)
    generated = codecs()
    first.write()
    second = process()
    assert all(title in second for title in TITLES)
    for source in (DecodeSource, EncodeSource):
        monkeypatch.setattr(source, "function", lambda self, message: pytest.fail("the code was generated again"))
    assert codecs() == generated == (generated[0], JOIN, JOIN)


def test_processes_add_to_one_file(process: Callable[[], KeptCode]) -> None:
    one, other = process(), KeptCode(MODULE)
    codecs()
    one.write()
    other.add("of the other", kept_code.Generated(codecs.__code__, ()))
    other.write()
    assert all(title in process() for title in (*TITLES, "of the other"))


def test_code_of_another_generator_is_ignored(process: Callable[[], KeptCode], monkeypatch: pytest.MonkeyPatch) -> None:
    first = process()
    codecs()
    first.write()
    monkeypatch.setattr(kept_code, "_generator", lambda: b"another generator")
    assert TITLES[0] not in process()


@pytest.mark.parametrize("damage", [b"", b"not marshalled"])
def test_a_damaged_file_is_replaced(damage: bytes, process: Callable[[], KeptCode], tmp_path: Path) -> None:
    first = process()
    codecs()
    first.write()
    (file,) = tmp_path.rglob("*.codecs")
    file.write_bytes(file.read_bytes()[:12] + damage)
    again = process()
    assert TITLES[0] not in again
    codecs()
    again.write()
    assert TITLES[0] in process()


def test_nothing_is_kept_where_python_keeps_no_byte_code(
    process: Callable[[], KeptCode], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    first = process()
    codecs()
    first.write()
    assert not list(tmp_path.rglob("*.codecs"))


def test_tracebacks_show_the_lines_of_kept_code(process: Callable[[], KeptCode]) -> None:
    first = process()
    codecs()
    first.write()
    process()
    with pytest.raises(EncodeError) as refused:
        compiled.encoder.__wrapped__(JoinGroupRequest, 5, False)(JoinGroupRequest(group_id=5))  # type: ignore[arg-type]  # a wrong type on purpose
    assert "raise explain(m) from None" in "".join(traceback.format_exception(refused.value))


def test_names_of_classes_are_found_in_the_modules_of_their_messages() -> None:
    """Kept code names its classes, so each must be a global of the module whose message uses it."""
    for api in APIS.values():
        declared = api.declaration
        module = sys.modules[declared.request.__module__]
        for version in declared.versions.every:
            for source, message in (
                (DecodeSource(version, True), declared.request),
                (EncodeSource(version, True), declared.request),
                (DecodeSource(version, True), declared.response),
                (EncodeSource(version, True), declared.response),
            ):
                source.function(message)
                assert all(getattr(module, name) is used for name, used in source.classes.items()), message
