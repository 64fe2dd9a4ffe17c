"""The server delivers the live page only with permission, and the page's routes return states, grammar and timeline."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from groupmock.control import pictures
from groupmock.control.page import MEDIA
from groupmock.core.groups.classic.states import MAY_FOLLOW
from groupmock.faults.kind import all_kinds
from groupmock.journal.read import line_of, read
from groupmock.journal.rows import ReplyRow
from groupmock.timeline.forms import html
from groupmock.timeline.model import Timeline

SCRIPTS = ("main", "api", "dom", "faults", "findings", "groups", "keys", "machine", "messages", "tail", "transactions", "trend")
"""The scripts of the page's own. Those of the timeline come on top."""


async def test_the_page_and_its_files_are_there_under_a_policy(api) -> None:
    async with api.session.get(f"{api.control.url}/") as answer:
        page = await answer.text()
        assert (answer.status, answer.content_type) == (200, "text/html")
    files = re.findall(r'(?:src|href)="(/page/[^"]+)"', page)
    assert len(files) >= 6
    scripts = [f"/page/{name}.js" for name in SCRIPTS]
    for path in ["/", *files, *scripts]:
        async with api.session.get(api.control.url + path) as answer:
            text = await answer.text()
            assert answer.status == 200, path
            policy = answer.headers["Content-Security-Policy"]
            assert answer.content_type in ("text/html", *MEDIA.values())
            assert {"nosniff", "no-referrer"} == {answer.headers["X-Content-Type-Options"], answer.headers["Referrer-Policy"]}
        for word in ("default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "script-src 'self'"):
            assert word in policy, path
        assert "unsafe" not in policy
        # The page must not load anything from other hosts, build HTML from texts, or store anything in the browser.
        assert not re.search(r"(inner|outer)HTML|insertAdjacentHTML|document\.(write|cookie)|(local|session)Storage", text), path
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path
        assert not re.search(r"\son\w+=", page)


async def test_the_page_is_for_everybody_and_holds_nothing(open_api) -> None:
    async with open_api(token="s3cr3t", topic=("secret-topic:1",)) as api:
        for path in ("/", "/page/main.js"):
            status, text = await api.ask("GET", path, headers={"Authorization": ""})
            assert status == 200
            assert "s3cr3t" not in text and "secret-topic" not in text
            for headers in ({"Origin": "http://evil.test"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.test"}):
                assert (await api.ask("GET", path, headers=headers))[0] == 403
        assert 'data-token="wanted"' in (await api.ask("GET", "/"))[1]
        assert (await api.ask("GET", "/page/../v1/health", headers={"Authorization": ""}))[0] in (401, 404)
        for wrong in ("/page/%2e%2e%2fpage.py", "/page/page.html", "/page/nothing.js"):
            assert (await api.ask("GET", wrong, headers={"Authorization": ""}))[0] == 404, wrong
    async with open_api() as api:
        assert "data-token" not in (await api.ask("GET", "/"))[1]


async def test_the_page_uses_what_the_scripts_of_the_timeline_have(api) -> None:
    page = await api.ask("GET", "/")
    scripts = [(await api.ask("GET", path))[1] for path in re.findall(r'src="(/page/\w+\.js)"', page[1])]
    own = [(await api.ask("GET", f"/page/{name}.js"))[1] for name in SCRIPTS]
    (has,) = re.findall(r"window\.Picture = \{ ([\w, ]+) \}", "\n".join(scripts))
    assert set(re.findall(r"\bPicture\.(\w+)", "\n".join(own))) <= set(has.split(", "))
    assert not re.search(r"\b(Draw|Rows)\.", "\n".join(own))
    style = (await api.ask("GET", "/page/page.css"))[1]
    for states in (await api.get("/v1/states")).values():
        for each in states:
            assert f'[data-state="{each["state"]}"] {{ --hue: #' in style


async def test_states_are_the_table_of_the_coordinator(api) -> None:
    told = await api.get("/v1/states")
    assert {each["state"]: set(each["next"]) for each in told["classic"]} == {
        str(state): set(map(str, after)) for state, after in MAY_FOLLOW.items()
    }
    await api.stable("g")
    (row,) = await api.get("/v1/groups")
    assert row["type"] in told
    assert (await api.get("/v1/health"))["audited"] is False


async def test_the_grammar_has_every_kind_with_its_fields(api) -> None:
    told = await api.get("/v1/grammar")
    assert {each["name"]: [field["name"] for field in each["fields"]] for each in told["kinds"]} == {
        name: list(kind.__struct_fields__) for name, kind in all_kinds().items()
    }
    assert "JoinGroup" in told["apis"]
    assert told["when"]["api"]


async def test_the_picture_of_a_group_is_that_of_its_rows(api) -> None:
    await api.stable("g", client="anna")
    picture = await api.get("/v1/timeline/g")
    (group,) = picture["groups"]
    assert [each["state"] for each in group["states"]] == ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"]
    (lane,) = group["lanes"]
    assert lane["member_id"].startswith("anna-")
    assert [picture["apis"][mark[2]] for mark in lane["marks"]] == ["JoinGroup", "SyncGroup"]
    assert (await api.ask("GET", "/v1/timeline/nobody"))[0] == 404
    assert (await api.ask("GET", "/v1/timeline/g?seconds=0"))[0] == 400


async def test_the_kept_rows_are_a_journal_that_readers_read(api, tmp_path: Path) -> None:
    await api.stable("g", client="anna")
    async with api.session.get(f"{api.control.url}/v1/journal/file") as answer:
        assert answer.headers["Content-Disposition"] == 'attachment; filename="groupmock-journal.jsonl"'
        path = tmp_path / "journal.jsonl"
        path.write_bytes(await answer.read())
    journal, rows = read(path)
    assert not journal.header.complete and "kept in memory" in (journal.header.incomplete_because or "")
    kept = list(api.control.context.ring.rows)
    assert [line_of(row) for row in rows] == [line_of(row) for row in kept[: len(rows)]]
    assert "SyncGroup" in {row.api_name for row in rows if isinstance(row, ReplyRow)}


async def test_the_timeline_of_a_group_is_a_page_to_keep(api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "SHARE", 1e9)
    monkeypatch.setattr(pictures, "OLDEST_S", 1e9)
    await api.stable("g", client="anna")
    async with api.session.get(f"{api.control.url}/v1/timeline/g/page?seconds=30") as answer:
        assert answer.content_type == "text/html"
        assert answer.headers["Content-Disposition"] == 'attachment; filename="groupmock-timeline.html"'
        page = await answer.text()
    drawn = await api.get("/v1/timeline/g?seconds=30")
    assert page == html.write(msgspec.convert(drawn, Timeline))
    assert (await api.ask("GET", "/v1/timeline/nobody/page"))[0] == 404


async def test_pictures_are_few_and_each_is_made_once_for_all(api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_PICTURES", 2)
    monkeypatch.setattr(pictures, "SHARE", 1e9)
    for name in ("a", "b", "c"):
        await api.stable(name, client=name)
        await api.get(f"/v1/timeline/{name}")
    kept = api.control.context.pictures._kept
    assert list(kept) == ["b", "c"]
    made = kept["c"]._made
    await api.stable("d", client="dora")
    assert (await api.get("/v1/timeline/c"))["groups"]
    assert kept["c"]._made is made


async def test_rows_that_went_by_unread_begin_the_picture_anew(api) -> None:
    await api.stable("g", client="anna")
    await api.get("/v1/timeline/g")
    kept = api.control.context.pictures._kept["g"]
    before = kept._growing
    kept._taken = -1
    kept._fresh_until = 0.0
    await api.get("/v1/timeline/g")
    assert kept._growing is not before
