"""Every HTML page that groupmock writes allows only its own style in its content security policy and escapes names."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import msgspec

from groupmock.audit.forms.html import write as write_audit
from groupmock.audit.report import Source, report_of
from groupmock.audit.verdicts import Audit, Finding, Tally
from groupmock.timeline import model as drawn
from groupmock.timeline.forms.html import write as write_timeline
from groupmock_clients.probe.report import FORMS
from groupmock_clients.probe.verdicts.outcome import BROKEN, VERDICTS
from groupmock_clients.probe.verdicts.report_model import (
    SCHEMA,
    Aside,
    BrokenDialogue,
    BrokerFacts,
    DeathFact,
    ExchangeResult,
    Report,
    RowResult,
)  # fmt: skip
from groupmock_clients.scenarios.heat_table import page as write_scenarios
from groupmock_clients.scenarios.play import Sizes
from groupmock_clients.scenarios.results import ScenarioResult, ScenarioResults
from groupmock_pipeline.report import draw
from groupmock_pipeline.report.first_screen import Link, Sentence
from groupmock_pipeline.report.page import page
from groupmock_pipeline.report.shapes import ColumnHead, Excerpt, Plot, Section, Series, Shown
from tools.live.report import as_html
from tools.live.tries import FAILED, Case, Try

HOME: Final = "broker/groupmock/text/html_document.py"
EVIL: Final = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'><svg onload='alert(1)'>", '" onmouseover="alert(1)',
    "</style><b>", "</title><script>alert(1)</script>", "--><script>", "]]></text><script>", "<meta http-equiv=refresh content=0>",
    "&lt;i&gt;",
    "\x00\x1b[2J\x9b\u202e\u2028<b>", "<base href=//evil.test>", "<form action=//evil.test>", "javascript:alert(1)", "<", "\\",
    "%(light)s{0}",
]  # fmt: skip


class Seen(HTMLParser):
    """Collects tags with the names of their attributes, texts and the style of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[tuple[str, tuple[str, ...]]] = set()
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.data: list[str] = []
        self.policy: dict[str, list[str]] = {}
        self.styles: list[str] = []
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add((tag, tuple(name for name, _ in attributes)))
        given = dict(attributes)
        if given.get("http-equiv") == "Content-Security-Policy":
            parts = (part.split() for part in (given["content"] or "").split(";"))
            self.policy = {name: sources for name, *sources in parts}
        self._in = given.get("type") or tag

    def handle_data(self, data: str) -> None:
        kept = {"style": self.styles, "script": self.scripts, "application/json": self.data}.get(self._in, self.texts)
        (kept if data.strip() else self.texts).append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def probe(name: str) -> str:
    broken = BrokenDialogue(*[name] * 5, problems=(name,))
    exchange = ExchangeResult(name, name, (name,), BROKEN, name, 1, 1.0, 1.0, False, broken, (Aside(name, name),), (name, name))
    rows = tuple(RowResult(name, name, name, name, name, verdict, name, 1, 1, (name,)) for verdict in VERDICTS)
    facts = BrokerFacts(name, 1, name, name, {name: name}, (name,))
    counts = {each: dict.fromkeys(VERDICTS, 1) for each in ("rows", "exchanges")}
    deaths = (DeathFact((name,), name, name, True, name), DeathFact((name, name), "", name, False, name))
    report = Report(SCHEMA, name, name, 1.0, facts, counts, rows, (exchange,), (name,), deaths)
    said = {field.name for struct in (Report, RowResult, ExchangeResult) for field in msgspec.structs.fields(struct)}
    assert {"broker", "rows", "exchanges", "left_behind", "deaths", "transcript"} <= said
    return FORMS["html"](report)


def report(name: str) -> str:
    section = Section("rebalances", name, name, ())
    sections = [Shown(section, [_excerpt(name)], {0: _drawn(kind, name in EVIL)}) for kind in ("bars", "range", "dots")]
    sections += [Shown(Section("runs", name, name, ()), missing=True), Shown(Section("runs", name, name, ()), trouble=name)]
    return page(name, name, sections, [Sentence((Link(name, name), name), name, ((Link(name, name), name),))])


def _excerpt(name: str) -> Excerpt:
    heads = [ColumnHead(name, name), ColumnHead(name, name, number=True)]
    return Excerpt(name, name, heads, [(name, 1.5), (name, None)], [name], more=True, note=name)


@cache
def _drawn(kind: str, evil: bool) -> str:
    """Return a plot that shows all names at once, because drawing takes long."""
    names = EVIL if evil else ["harmless"]
    values: list[float | None] = [float(place) for place, _ in enumerate(names, 1)]
    series = [Series(name, values) for name in names[: 1 if kind == "bars" else 3]]
    return draw.svg(draw.draw(Plot(kind, "".join(names), names, series)), "p", "".join(names))


def live(name: str) -> str:
    cases = [Case(name, [Try(FAILED, 1.0, name)]), Case(name, missing=name), Case(name, [Try(FAILED, 1.0, name), Try("passed", 1.0, name)])]
    return as_html({name: cases})


def audit(name: str) -> str:
    finding = Finding(
        rule="CLIENT-05", severity="error", group=name, member=name, member_id=name, client_id=name, t=1, sentence=name, instead=name,
        library=name, version=name, rows=(1, 2), waived=name,
    )  # fmt: skip
    tally = Tally(kept=1, crashed=name)
    tally.found(finding)
    tally.found(finding)
    tally.leave(name)
    found = Audit(rules={"CLIENT-05": tally}, groups=1, rows=1, holes=[name])
    return write_audit(report_of([Source(name=name, audit=found, notices=[name])], [name]))


def scenarios(name: str) -> str:
    figures = dict.fromkeys(("generations", "moved", "unowned_s"), 1.0)
    found = [
        ScenarioResult(scenario="scale-up", protocol="range", client=name, figures=figures, broken=[name]),
        ScenarioResult(scenario="scale-up", protocol="design-1", client=name, trouble=name),
    ]
    return write_scenarios(ScenarioResults(stage="live", sizes=Sizes().as_fields(), libraries={name: name}, results=found))


def timeline(name: str) -> str:
    """The timeline has names in its data, which tests/unit/timeline checks; tests/live/timeline checks that its script inserts them as
    text."""
    marks, events = [drawn.Mark(1, 1, 0, 0, 1, 1, 1, 0, 0)], [drawn.Event(1, 1, "fault", name)]
    lane = drawn.Lane(name, name, name, name, name, name, 0, [drawn.Life(1, name, 2, name)], [], marks, events)
    group = drawn.Group(name, 0, [drawn.State(1, None, name, 1, 1, name)], lanes=[lane])
    source = drawn.Source(name, name, name, name, 0, 0, 2, [name])
    return write_timeline(drawn.Timeline("0", [source], [group], [name], [], [name]))


WRITERS: Final[dict[str, Callable[[str], str]]] = {
    "broker/groupmock/audit/forms/html.py": audit,
    "broker/groupmock/timeline/forms/html.py": timeline,
    "clients/groupmock_clients/probe/report/html.py": probe,
    "clients/groupmock_clients/scenarios/heat_table.py": scenarios,
    "pipeline/groupmock_pipeline/report/page.py": report,
    "tools/live/report.py": live,
}


def test_every_page_lets_in_its_own_style_and_names_are_only_text() -> None:
    wrong: dict[str, Any] = {}
    for writer, write in WRITERS.items():
        plain = Seen(write("harmless"))
        for name in EVIL:
            text = write(name)
            seen = Seen(text)
            if not seen.tags <= plain.tags:
                wrong[f"{writer}: {name!r}: tags"] = seen.tags - plain.tags
            shown = "".join(seen.texts) if not seen.data else "".join(strings(embedded("".join(seen.data))))
            if name.isprintable() and name not in shown:
                wrong[f"{writer}: {name!r}: text"] = "it is not to be seen"
            if (seen.styles, seen.scripts) != (plain.styles, plain.scripts):
                wrong[f"{writer}: {name!r}: style"] = seen.styles
        wrong.update({f"{writer}: {trouble}": plain.policy for trouble in _lax(plain)})
        tags = {tag for tag, _ in plain.tags} - ({"script"} if plain.data else set())
        assert tags & {"script", "img", "link", "iframe", "object", "form", "base", "a"} <= {"a"}
        assert [attribute for _, names in plain.tags for attribute in names if attribute.startswith("on")] == []
    assert wrong == {}


def embedded(data: str) -> Any:
    """Return the JSON that a page has compressed in its data element."""
    return msgspec.json.decode(zlib.decompress(b64decode(msgspec.json.decode(data))))


def strings(value: Any) -> Iterator[str]:
    """Yield every string of a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def _lax(seen: Seen) -> list[str]:
    """Return the unnecessary permissions in a page's content security policy."""
    (style,) = seen.styles
    own = f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"
    wanted = {"default-src": ["'none'"], "base-uri": ["'none'"], "form-action": ["'none'"]}
    drawn = any("style" in names for _, names in seen.tags)
    wanted |= {"style-src": ["'unsafe-inline'"], "style-src-elem": [own]} if drawn else {"style-src": [own]}
    if seen.scripts:
        wanted |= {"script-src": [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in seen.scripts]}
    return [f"{name}: {seen.policy.get(name)}" for name in {*wanted, *seen.policy} if seen.policy.get(name) != wanted.get(name)]


def test_no_page_is_written_but_by_these(tree: Path) -> None:
    """Only one function writes the head of a page, and the test of all pages covers every caller."""
    files = [file for root in ("codec", "broker", "clients", "pipeline", "tools", "docker") for file in (tree / root).rglob("*.py")]
    texts = {str(file.relative_to(tree)): file.read_text(encoding="utf-8") for file in files}
    assert [name for name, text in texts.items() if re.search(r"<!doctype|<html|<head>", text, re.IGNORECASE)] == [HOME]
    assert {name for name, text in texts.items() if "html_document import document" in text} == set(WRITERS)
