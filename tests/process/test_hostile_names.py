"""A peer puts terminal control sequences and forged log lines into every text field, and no output contains them unescaped. One broker
in this process serves every API with such texts in every field and creates groups with such names. Afterwards all output for people is
checked: log, story, errors, verbs, failure texts and journal."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cases import for_each

from groupmock import Broker, FaultNeverFired, GroupTimeout
from groupmock.cli import BAD_USE, OK, main
from groupmock.journal.read import read
from groupmock.journal.rows import MovedRow, ReplyRow, RequestRow
from groupmock.rig.replay import replay
from groupmock.rig.wire import Client, HungUp
from groupmock.story.sentences import sentence
from groupmock_clients.pytest_plugin import _last_words
from groupmock_clients.scenarios import demo
from groupmock_clients.scenarios.play import Sizes
from groupmock_clients.scenarios.tour_story import Tour
from groupmock_codec import APIS
from groupmock_codec.declare import Message, Wire, fields_of
from groupmock_codec.embedded.consumer import Subscription, encode_subscription
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity

STEERS = "\x1b[2J\x1b]0;owned\x07\r\n    9.999 s error   FORGED\n\0\x08\x7f\x85\x9b31m\u2028FORGED\u2029\u202e\u2066\ufeff \\x1b '\" "
"""Control sequences that clear the screen, set the window title, start new lines, move back, delete and reverse the text direction."""
OUR_LINE = re.compile(r" *\d+\.\d{3} s (info   |warning|error  ) (group|connection|timer|command|fault|client|[a-z_ :]+)")


def hostile(what: str) -> str:
    return f"{what}{STEERS}"


def wrong_in(text: str) -> list[str]:
    """Return the control sequences in an output that a terminal would obey, and the forged lines."""
    obeyed = [
        each
        for each in text
        if each != "\n" and (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(each) in ("RLO", "LRI"))
    ]
    return [*map(ascii, obeyed), *(line for line in text.splitlines() if re.match(r"\s*(9\.999 s|FORGED)", line))]


def filled(message: type[Message], version: int) -> Any:
    """Return a message with a hostile text in each text field, one element in each array, and numbers at their defaults."""
    texts = ((field.name, _filled(field.name, field.wire, version)) for field in fields_of(message) if field.present(version))
    return message(**{name: value for name, value in texts if value is not None})


def _filled(name: str, wire: Wire, version: int) -> Any:
    if wire.kind == "array":
        element = _filled(name, wire.element_wire, version)
        return None if element is None else [element]
    texts = {"string": hostile(name), "bytes": hostile(name).encode()}
    return filled(wire.struct, version) if wire.kind == "struct" else texts.get(wire.kind)


def joining(group: str, member_id: str = "", **more: Any) -> JoinGroupRequest:
    metadata = encode_subscription(Subscription(version=1, topics=[hostile("subscribed")], user_data=hostile("user data").encode()))
    protocols = [JoinGroupRequestProtocol(name=hostile("protocol"), metadata=metadata)]
    return JoinGroupRequest(
        group_id=group, member_id=member_id, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocols=protocols,
        **({"protocol_type": "consumer", "reason": hostile("reason")} | more),
    )  # fmt: skip


def attack(broker: Broker) -> None:
    """Send every API to the broker with hostile texts in all fields. A refused request that closes its connection is a row of the
    journal, too."""
    host, port = broker.bootstrap.split(":")
    for key, version in broker_versions(broker).items():
        with Client(host, int(port), hostile("client id"), seconds=30) as peer:
            try:
                peer.ask(key, version, filled(APIS[key].request.message, version))
            except (HungUp, ConnectionError):
                pass
    with Client(host, int(port), hostile("client id"), seconds=30) as peer:
        static = joining(hostile("static"), group_instance_id=hostile("instance"))
        peer.ask(11, 9, static)
        peer.ask(11, 9, msgspec.structs.replace(static, protocol_type=hostile("type")))
        group = hostile("group")
        member = peer.ask(11, 9, joining(group)).member_id
        peer.ask(11, 9, joining(group, member))
        leaving = MemberIdentity(member_id=member, reason=hostile("leaves"))
        peer.ask(13, 5, LeaveGroupRequest(group_id=group, members=[leaving, MemberIdentity(member_id=hostile("unknown"))]))
        typed = joining(hostile("typed"), protocol_type=hostile("type"))
        typed.member_id = peer.ask(11, 9, typed).member_id
        peer.ask(11, 9, typed)
    broker.client_says(hostile("client"), hostile("what"), field=hostile("field"), **{hostile("name"): [hostile("value")]})


def broker_versions(broker: Broker) -> dict[int, int]:
    return {each.key: each.highest for each in broker._up().core.environment.identity.advertised}


@contextmanager
def attacked_broker(folder: Path, log: str) -> Iterator[Broker]:
    journal = str(folder / "journal.jsonl")
    with Broker(topics={"orders": 1}, log=log, control=0, journal=journal, group_initial_rebalance_delay_ms=0, seed=1) as broker:
        attack(broker)
        yield broker


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Broker]:
    with attacked_broker(tmp_path, "text") as broker:
        yield broker


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_log_has_our_lines_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str], form: str) -> None:
    """The broker starts and ends within the test, because `capfd` misses output that another thread writes between a test's setup and
    its call."""
    with attacked_broker(tmp_path, form):
        pass
    log = capfd.readouterr().err
    assert log.count("FORGED") > 20 and "\\x1b[2J" in log
    assert wrong_in(log) == []
    if form == "json":
        assert log.isascii() and all("event" in json.loads(line) for line in log.splitlines())
    else:
        assert [line for line in log.splitlines() if not OUR_LINE.match(line)] == []


def test_stories_and_failure_texts_are_ours(attacked: Broker) -> None:
    groups = sorted(attacked.groups)
    assert {hostile("group"), hostile("static"), hostile("typed")} <= set(groups)
    for group in groups:
        story = attacked.story(group)
        assert "FORGED" in story and wrong_in(story) == []
    words = _last_words(attacked, shared=False)
    assert "FORGED" in words and wrong_in(words) == []
    host, port = attacked.bootstrap.split(":")
    name = 'a "rule" of \\ours'
    with pytest.raises(FaultNeverFired) as idle, attacked.fault({"client_id": hostile("nobody")}, "drop", name=name):
        with Client(host, int(port), hostile("somebody")) as peer:
            peer.ask(18, 0)
    assert 'rule "a \\"rule\\" of \\\\ours" never' in str(idle.value)
    assert str(idle.value).count("FORGED") == 6 and wrong_in(str(idle.value)) == [] and len(str(idle.value).splitlines()) == 1
    with pytest.raises(GroupTimeout) as missed:
        attacked.wait_for(hostile("group"), state="Stable", members=9, timeout=0)
    assert "FORGED" in str(missed.value) and wrong_in(str(missed.value)) == []


def test_verbs_print_what_is_ours(attacked: Broker, capfd: pytest.CaptureFixture[str]) -> None:
    from groupmock.control.routes import ROUTES

    assert attacked.control is not None
    capfd.readouterr()
    given = {"group": hostile("group"), "topic": "orders"}
    asked = 0
    for route in ROUTES:
        needed = [field.name for field in msgspec.structs.fields(route.params) if field.required]
        if route.verb is None or route.method != "GET" or not set(needed) <= set(given):
            continue
        code = main([*route.verb, *(given[name] for name in needed), "--control", attacked.control])
        out, err = capfd.readouterr()
        assert out.isascii() and wrong_in(out) == [] == wrong_in(err), route.verb
        asked += code == OK and "FORGED" in out
    assert asked >= 3
    refused = (
        ["group", "show", hostile("nobody"), "--control", attacked.control],
        ["topic", "delete", hostile("nothing"), "--control", attacked.control],
        ["group", "show", "g", "--control", hostile("http://127.0.0.1:1/")], ["serve", "--topic", hostile("t")],
        ["serve", "--set", hostile("key") + "=1"], ["serve", "--config", hostile("/no/file").replace("\0", "")],
        ["config", "--profile", hostile("p")],
        ["serve", f"--{hostile('flag')}"], [hostile("verb")],
    )  # fmt: skip
    for words in refused:
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(str(ended.code))
        err = capfd.readouterr().err
        assert code != OK and "FORGED" in err and len(err.splitlines()) == 1 and wrong_in(err) == [], words
        assert code == BAD_USE or "http://" in words[-1]


def test_a_journal_is_lines_of_ascii_that_play_again(attacked: Broker, tmp_path: Path) -> None:
    attacked.stop()
    data = (tmp_path / "journal.jsonl").read_bytes()
    source, rows = read(tmp_path / "journal.jsonl")
    assert data.isascii() and wrong_in(data.decode()) == []
    assert len(data.decode().splitlines()) == len(rows) + 1 and source.ended and not source.broken
    assert any(isinstance(row, MovedRow) and row.group == hostile("group") for row in rows)
    assert any(isinstance(row, RequestRow) and row.client_id == hostile("client id") for row in rows)
    assert replay(tmp_path / "journal.jsonl").difference is None
    # `explain`, the story and the log print journal rows as sentences, so the sentences must be safe as well.
    assert [line for row in rows if wrong_in(line := sentence(row)) or "\n" in line] == []
    assert sum(isinstance(row, ReplyRow) for row in rows) > len(APIS) // 2


def test_verbs_of_a_journal_file_print_what_is_ours(attacked: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    attacked.stop()
    capfd.readouterr()
    path = str(tmp_path / "journal.jsonl")
    for words in (["journal", "find", path, "--limit", "9999"], ["story", path], ["story", path, "--group", hostile("group")]):
        for form in ([], ["--json"]):
            assert main([*words, *form]) == OK
            out, err = capfd.readouterr()
            assert "FORGED" in out and wrong_in(out) == [] == wrong_in(err), words
            assert not form or out.isascii()
    nobody = tmp_path / hostile("file").replace("\0", "").replace("/", "")
    for words in (["story", path, "--group", hostile("nobody")], *([verb, str(nobody)] for verb in ("replay", "story", "audit"))):
        assert main(words) == BAD_USE
        err = capfd.readouterr().err
        assert "FORGED" in err and len(err.splitlines()) == 1 and wrong_in(err) == [], words


def test_a_demo_whose_port_somebody_finds(attacked: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    attacked.stop()
    capfd.readouterr()
    teller = Tour(hostile("group"), "orders", Sizes())
    for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()[1:]:
        row = json.loads(line)
        if row["kind"] in ("member", "moved"):
            for told in teller.tell(row):
                demo.say(told)
    out = capfd.readouterr().out
    assert "FORGED" in out and wrong_in(out) == []


@for_each("text", [STEERS, "\x1b", "\u2028", "\x9b"])
def test_this_look_sees_what_is_wrong(text: str) -> None:
    assert wrong_in(f"a{text}b")
