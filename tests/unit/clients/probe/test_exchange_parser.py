"""The parser reads the language of exchanges and reports errors with file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import for_each

from groupmock_clients.probe.language.exchange import Await, Exchange, Mark, Pause, Send
from groupmock_clients.probe.language.parser import load
from groupmock_clients.probe.language.syntax import Between, ExchangeError, FunctionCall, Literal, Ref, Sequence, Struct

HEAD = 'exchange X "a title"\nrows: R1 R2\n'


Read = Callable[[str], Exchange]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def one(text: str) -> Exchange:
        file = tmp_path / "some.exchange"
        file.write_text(text)
        return load([file])[0]

    return one


def test_headers_and_steps(read: Read) -> None:
    exchange = read(
        HEAD + "for v: 0 4..6\nsettings: group.max.size=2\ntopics: t1:4\nmember *: rebalance_timeout_ms=5\nreleases: 4.3\n\n"
        "A: JoinGroup v$v protocols=[p(range)] # said\nmark T\npause 30\nA -> 0 members=len(2) after 10..20 since T | 3.9: 25\n"
    )
    assert exchange.rows == ("R1", "R2") and exchange.parameters == {"v": (0, 4, 5, 6)}
    assert exchange.settings == {"group.max.size": "2"} and exchange.topics == {"t1": 4} and exchange.releases == ("4.3",)
    assert [variant.name for variant in exchange.variants()] == ["X[v=0]", "X[v=4]", "X[v=5]", "X[v=6]"]
    send, mark, pause, wait = exchange.steps
    assert isinstance(send, Send) and send.version == Ref("v", None, 0) and send.expects is None
    assert send.fields == (("protocols", Sequence((FunctionCall("p", (Literal("range"),)),))),)
    assert isinstance(mark, Mark) and isinstance(pause, Pause) and pause.ms == Literal(30)
    assert isinstance(wait, Await)
    newest, oldest = wait.expects.of("4.3"), wait.expects.of("3.9")
    assert (newest.error, newest.timing.lowest, newest.timing.highest, newest.timing.since) == (0, 10, 20, "T")
    assert oldest.error == 25 and oldest.fields == ()


def test_values(read: Read) -> None:
    request = 'A: Heartbeat member_id="x # y" generation_id=$A.generation+1'
    exchange = read(HEAD + request + ' -> 1 a={b: [x"00ff", null], c: -3..4} d=set[1, 2]\n')
    (send,) = exchange.steps
    assert isinstance(send, Send) and send.expects is not None
    assert dict(send.fields) == {"member_id": Literal("x # y"), "generation_id": Ref("A", "generation", 1)}
    fields = dict(send.expects.of("3.9").fields)
    assert fields["a"] == Struct((("b", Sequence((Literal(b"\0\xff"), Literal(None)))), ("c", Between(-3, 4))))
    assert fields["d"] == FunctionCall("set", (Literal(1), Literal(2)))


def test_topics_of_ones_own_have_configs(read: Read) -> None:
    exchange = read(HEAD + "topics: t1:4 t2:1[retention.ms=-1;cleanup.policy=compact] t3:2[]\nA: Heartbeat -> 0\n")
    assert exchange.topics == {"t1": 4, "t2": 1, "t3": 2}
    assert exchange.own == {"t2": {"retention.ms": "-1", "cleanup.policy": "compact"}, "t3": {}}


def test_a_text_may_hold_the_marks_of_the_language(read: Read) -> None:
    exchange = read(HEAD + 'A: Heartbeat -> 0 a="x \\"y\\" | -> # $" b="|" | 3.9: 25\n')
    (send,) = exchange.steps
    assert isinstance(send, Send) and send.expects is not None
    assert send.expects.of("4.3").fields == (("a", Literal('x "y" | -> # $')), ("b", Literal("|")))
    assert send.expects.of("3.9").error == 25


def test_macros_repeat_and_guards(read: Read) -> None:
    macro = "macro twice(A)\nrepeat 2\nA: Heartbeat -> 0\nend\n\n"
    exchange = read(macro + HEAD + "for v: 1\ndo twice(Zoe)\n[3.9 v>=1] A: Heartbeat -> 0\n[core] do twice(B)\n")
    members = [step.member for step in exchange.steps if isinstance(step, Send)]
    assert members == ["Zoe", "Zoe", "A", "B", "B"]
    assert exchange.steps[0].place == "some.exchange:9 (some.exchange:3)"
    guard = exchange.steps[2].guard
    assert guard.holds("3.9", "tcp", {"v": 1}) and not guard.holds("4.3", "tcp", {"v": 1}) and not guard.holds("3.9", "tcp", {"v": 0})
    assert exchange.steps[3].guard.stage == "core"


def test_a_line_may_go_on_in_the_next(read: Read) -> None:
    assert len(read(HEAD + "A: Heartbeat \\\n  member_id=x \\\n  -> 25\n").steps) == 1


WRONG = {
    "A: Heartbeat -> 0\n": (1, "'exchange' or 'macro' expected"),
    "exchange X\nrows: R\nA: Heartbeat -> 0\n": (1, 'NAME "title"'),
    'exchange X "t"\nA: Heartbeat -> 0\n': (1, "proves no row"),
    'exchange X "t"\nrows: R\n': (1, "no steps"),
    'exchange X "t"\nrows: R\nA: Heartbeat\n': (1, "cannot fail"),
    HEAD + "A: Heartbeat -> 0\nrows: R3\n": (4, "belongs in front"),
    HEAD + "releases: 4.3 1.0\nA: Heartbeat -> 0\n": (3, "'1.0'"),
    HEAD + "needs: money\nA: Heartbeat -> 0\n": (3, "'money'"),
    HEAD + "for v: x\nA: Heartbeat -> 0\n": (3, "a number or a range"),
    HEAD + "settings: a\nA: Heartbeat -> 0\n": (3, "KEY=VALUE"),
    HEAD + "topics: t1\nA: Heartbeat -> 0\n": (3, "NAME:PARTITIONS"),
    HEAD + "topics: t1:1[a=b\nA: Heartbeat -> 0\n": (3, "NAME:PARTITIONS or"),
    HEAD + "A: Heartbeat ->\n": (3, "no step looks like|expected"),
    HEAD + "A: Heartbeat -> soon\n": (3, "error code"),
    HEAD + "A: Heartbeat -> 0 at noon\n": (3, "from 'at' on"),
    HEAD + "A: Heartbeat generation_id=1 generation_id=2 -> 0\n": (3, "given twice"),
    HEAD + "A: Heartbeat generation_id= -> 0\n": (3, "a value expected"),
    HEAD + "A: Heartbeat generation_id=[1 -> 0\n": (3, "']' expected"),
    HEAD + "A: Heartbeat -> 0 | 25\n": (3, "RELEASE"),
    HEAD + "A: Heartbeat -> 0 | 2.7: 25\n": (3, "'2.7'"),
    HEAD + "A jumps\nA: Heartbeat -> 0\n": (3, "no step looks like"),
    HEAD + "A is\nA: Heartbeat -> 0\n": (3, "needs other member"),
    HEAD + "do nothing(A)\nA: Heartbeat -> 0\n": (3, "no macro 'nothing'"),
    HEAD + "repeat 2\nA: Heartbeat -> 0\n": (3, "without its 'end'"),
    HEAD + "[w>2] A: Heartbeat -> 0\n": (3, "a release"),
    HEAD + "A: Heartbeat ; -> 0\n": (3, "cannot read"),
    HEAD + "A: Heartbeat -> 0 \\\n": (3, "in the middle of a line"),
    "macro a()\ndo b()\n\nmacro b()\ndo a()\n\n" + HEAD + "do a()\nA: Heartbeat -> 0\n": (5, "in a circle"),
    HEAD + "A: Heartbeat -> 0\n" + HEAD + "A: Heartbeat -> 0\n": (4, "already: some.exchange:1"),
}


@for_each(("text", "where"), WRONG.items(), ids=[reason for _, reason in WRONG.values()])
def test_what_is_wrong_is_refused_with_its_place(read: Read, text: str, where: tuple[int, str]) -> None:
    with pytest.raises(ExchangeError, match=where[1]) as refused:
        read(text)
    assert f"some.exchange:{where[0]}" in str(refused.value)
