"""The event stream sends journal rows as server-sent events: formats, resuming, slow readers, missing permission, and the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from turns_of_loop import until

from groupmock.control import event_stream
from groupmock.control.visitor import Patience
from groupmock.journal.ring import Ring
from groupmock.journal.rows import NoteRow

PATH = "/v1/events"


class Heard:
    """An open stream of server-sent events."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def event(self) -> tuple[str, Any, str]:
        """Return name, data and id of the next event and skip comments."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(60):
            while line := (await self._answer.content.readline()).decode():
                name, _, value = line.rstrip("\n").partition(": ")
                if line != "\n":
                    fields[name] = value
                elif "event" in fields:
                    return fields["event"], json.loads(fields["data"]), fields.get("id", "")
        raise EOFError

    async def data(self, number: int) -> list[Any]:
        return [(await self.event())[1] for _ in range(number)]


@asynccontextmanager
async def listening(api: Any, last_event: str = "", /, **query: Any) -> AsyncIterator[Heard]:
    headers = {"Last-Event-ID": last_event} if last_event else {}
    async with api.session.get(api.control.url + PATH, params=query, headers=headers) as answer:
        assert (answer.status, answer.content_type) == (200, "text/event-stream"), await answer.text()
        yield Heard(answer)


def run_of(api: Any) -> str:
    header = api.control.running.server.journal.header
    return f"{header.run}.{header.epoch_ns}"


def note(api: Any, what: str) -> int:
    journal = api.control.running.server.journal
    journal.append(NoteRow(t=0, what=what))
    return int(journal.sequence)


async def test_rows_come_as_they_stand_in_a_file_with_their_numbers(api) -> None:
    run = run_of(api)
    async with listening(api, kind="note") as heard:
        assert await heard.event() == ("begin", {"run": run, "again": False}, "")
        seq = note(api, "one")
        assert await heard.event() == ("row", {"kind": "note", "seq": seq, "t": 0, "what": "one"}, f"{run}/{seq}")
        found = await api.get("/v1/journal/find", since=seq - 1, kind="note")
        assert found["rows"] == [{"kind": "note", "seq": seq, "t": 0, "what": "one"}]


async def test_filters_are_those_of_a_search(api) -> None:
    await api.stable("g", client="anna")
    await api.stable("h", client="ben")
    for query in ({"group": "g"}, {"api": "SyncGroup"}, {"client_id": "ben"}, {"kind": "moved", "group": "h"}, {"after": "Stable"}):
        found = await api.get("/v1/journal/find", **query)
        assert found["rows"], query
        async with listening(api, last=100_000, **query) as heard:
            await heard.event()
            assert await heard.data(found["count"]) == found["rows"], query


async def test_who_comes_back_goes_on_behind_the_last_row_of_the_same_run(api) -> None:
    run = run_of(api)
    seqs = [note(api, str(number)) for number in range(5)]
    for last in (f"{run}/{seqs[1]}", str(seqs[1])):
        async with listening(api, last, kind="note") as heard:
            assert (await heard.event())[1]["again"] is False
            assert [each["seq"] for each in await heard.data(3)] == seqs[2:]
    async with listening(api, kind="note", since=seqs[2]) as heard:
        await heard.event()
        assert [each["seq"] for each in await heard.data(2)] == seqs[3:]
    async with listening(api, f"another/{seqs[1]}", kind="note") as heard:
        assert (await heard.event())[1] == {"run": run, "again": True}
        assert (await api.ask("GET", PATH, headers={"Last-Event-ID": "x"}))[0] == 400
        new = note(api, "new")
        assert [each["seq"] for each in await heard.data(1)] == [new]


async def test_who_comes_back_too_late_is_told_what_it_missed(api) -> None:
    ring: Ring = api.control.running.ring
    first = note(api, "first")
    ring.max_rows = 64
    for number in range(200):
        note(api, str(number))
    oldest = ring.rows[0].seq
    async with listening(api, str(first)) as heard:
        await heard.event()
        assert (await heard.event())[:2] == ("lost", {"rows": oldest - first - 1})
        assert (await heard.data(1))[0]["seq"] == oldest


async def test_a_slow_reader_keeps_nothing_and_is_told_what_it_missed(api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "PACE", 0)
    ring: Ring = api.control.running.ring
    async with listening(api, kind="note") as heard:
        await heard.event()
        (listener,) = api.control.context.listeners._here
        # The ring drops the row before the listener of events runs, because no other task of the loop runs between these lines.
        ring.max_rows = 64
        sent = [note(api, str(number)) for number in range(500)]
        assert vars(listener).keys() == {"_among", "taken"}
        name, lost, _ = await heard.event()
        assert name == "lost"
        rest = await heard.data(len([each for each in ring.rows if each.seq in sent]))
        assert lost["rows"] + len(rest) == len(sent)
        assert rest[-1]["seq"] == sent[-1]


async def test_who_reads_nothing_is_hung_up_on(open_api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "PACE", 0)
    async with open_api() as api:
        _, writer = await asyncio.open_connection("127.0.0.1", int(api.control.url.rpartition(":")[2]), limit=1)
        writer.write(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        here = api.control.context.listeners
        await until(lambda: len(here) == 1)
        (visitor,) = [each for each in api.control.visitors._visitors.values() if each._served]
        visitor._patience = Patience(unread=0.02)

        def more() -> bool:
            note(api, "x" * 100_000)
            return len(here) == 0

        await until(more)
        writer.close()


async def test_events_reader_that_hangs_up_before_the_answer_leaves_no_traceback(
    api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """aiohttp would log the exception from writing the answer's head to a closed connection as a server error."""
    here = api.control.visitors._visitors

    async def closing() -> None:
        for visitor in list(here.values()):
            assert visitor._transport is not None
            visitor._transport.close()

    monkeypatch.setattr(api.control.context, "settle", closing)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.control.url.rpartition(":")[2]))
    writer.write(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert await reader.read() == b""
    await until(lambda: not here and len(api.control.context.listeners) == 0)
    writer.close()
    monkeypatch.undo()
    assert [record.getMessage() for record in caplog.records] == []


async def test_a_stream_that_is_read_again_is_not_hung_up_on(api) -> None:
    async with listening(api, kind="note") as heard:
        await heard.event()
        (visitor,) = [each for each in api.control.visitors._visitors.values() if each._served]
        visitor.pause_writing()
        assert visitor._timer is not None
        visitor.resume_writing()
        assert visitor._timer is None
        note(api, "one")
        await heard.data(1)


async def test_lines_are_sentences_and_the_log_is_that_of_serve(api) -> None:
    await api.stable("g", client="anna")
    async with listening(api, form="lines", kind="moved", last=100_000) as heard:
        await heard.event()
        line = (await heard.data(1))[0]
        assert line | {"seq": 0, "t": 0} == {
            "seq": 0, "t": 0, "level": "info", "kind": "moved", "group": "g", "text": line["text"]}  # fmt: skip
        assert "Empty" in line["text"]
    async with listening(api, form="log", last=100_000, group="g") as heard:
        await heard.event()
        lines = await heard.data(3)
        assert {each["group"] for each in lines} == {"g"}
        assert [each["kind"] for each in lines][-1] == "rebalance"
        assert "generation 1" in lines[-1]["text"]
        last = lines[-1]["seq"]
    async with listening(api, str(lines[0]["seq"]), form="log", group="g") as heard:
        await heard.event()
        assert (await heard.data(2))[-1]["seq"] == last
    status, refused = await api.ask("GET", f"{PATH}?form=log&kind=moved")
    assert (status, "form lines" in refused["error"]) == (400, True)
    assert len(api.control.context.listeners) == 0


async def test_changes_say_what_looks_different_once_per_look(api) -> None:
    async with listening(api, form="changes") as heard:
        await heard.event()
        await api.stable("g", client="anna")
        changed = await changes_until(heard, lambda each: each.get("groups"))
        assert changed["groups"] == ["g"]
        await api.post("/v1/clock/step", ms=1)
        changed = await changes_until(heard, lambda each: each.get("all"))
        assert changed["faults"]


async def test_masses_of_changes_are_one(api) -> None:
    rows = [NoteRow(t=1, seq=number, what="x") for number in range(1000)]
    assert len(list(event_stream.Changes().tell(rows))) == 1


async def changes_until(heard: Heard, so: Callable[[Any], Any]) -> Any:
    while True:
        _, changed, _ = await heard.event()
        if so(changed):
            return changed


async def test_a_reset_ends_it_and_the_next_one_is_of_the_new_cluster(api) -> None:
    async with listening(api) as heard:
        begin = (await heard.event())[1]
        await api.post("/v1/reset")
        while (await heard.event())[0] != "end":
            pass
        with pytest.raises(EOFError):
            await heard.event()
    async with listening(api, kind="note") as heard:
        assert (await heard.event())[1]["run"] != begin["run"]
        note(api, "new")
        assert (await heard.data(1))[0]["what"] == "new"
    await until(lambda: not api.control.context.listeners)


async def test_nobody_listens_and_nothing_is_told(api) -> None:
    journal = api.control.running.server.journal
    here = api.control.context.listeners
    assert here not in journal._sinks
    async with listening(api) as heard:
        await heard.event()
        assert here in journal._sinks
    await until(lambda: here not in journal._sinks)


async def test_so_many_listen_and_no_more(api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupmock.control.listening.MAX_LISTENERS", 1)
    async with listening(api) as heard:
        await heard.event()
        assert (await api.ask("GET", PATH))[0] == 503
    await until(lambda: not api.control.context.listeners)
    async with listening(api) as heard:
        await heard.event()


async def test_who_may_not_ask_hears_nothing(open_api) -> None:
    async with open_api(token="s3cr3t") as api:
        for headers, status in (
            ({"Authorization": ""}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Origin": "http://evil.test"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Host": "evil.test"}, 403),
        ):
            for path in (PATH, "/v1/states", "/v1/grammar", "/v1/timeline/g"):
                assert (await api.ask("GET", path, headers=headers))[0] == status, (path, headers)
        assert len(api.control.context.listeners) == 0
        async with listening(api) as heard:
            assert (await heard.event())[0] == "begin"
