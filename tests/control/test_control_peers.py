"""Misbehaving HTTP peers (hanging, half requests, malicious bodies, invalid text) cannot harm the control API. They do not delay Kafka
clients, occupy a connection for ever, or get a traceback as an answer."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from turns_of_loop import until

from groupmock.config.resolve import resolve
from groupmock.control.route import FORM, JSON_LINES, Nothing
from groupmock.control.routes import ROUTES
from groupmock.control.server import Control, serve
from groupmock.control.visitor import MAX_VISITORS, PATIENCE, Patience, Visitor
from groupmock.rig.wire import AsyncClient
from groupmock.server.assembly import start

SHORT = 0.02
DEEP = {
    "lists": b"[" * 60_000,
    "objects": b'{"a":' * 10_000,
    "deep where a field is": b'{"name":' + b"[" * 50_000,
    "a table's name": b"[" + b"a." * 30_000 + b"a]",
    "a key": b"a." * 30_000 + b"a = 1",
    "lists of TOML": b"a = " + b"[" * 60_000,
    "tables of TOML": b"a = " + b"{a=" * 20_000,
    "digits": b"9" * 60_000,
    "digits of TOML": b"seed = " + b"9" * 60_000,
    "not UTF-8": b"\xff" * 60_000,
}
ODD = [
    b"\x00", b"\x07", b"\x1b[2J", b"\x7f", b"\x80", b"\x9b", b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80", b"\xff\xfe", b"%ff", b"%00",
    b"%zz", b"\t", b"\n",
]  # fmt: skip
PLACES: dict[str, bytes] = {
    "method": b"GE@ /v1/groups HTTP/1.1\r\nHost: localhost\r\n",
    "path": b"GET /v1/gr@ HTTP/1.1\r\nHost: localhost\r\n",
    "part of a path": b"GET /v1/groups/a@b HTTP/1.1\r\nHost: localhost\r\n",
    "number in a path": b"POST /v1/nodes/@/stop HTTP/1.1\r\nHost: localhost\r\n",
    "query": b"GET /v1/journal/count?group=@ HTTP/1.1\r\nHost: localhost\r\n",
    "name in a query": b"GET /v1/journal/count?@=1 HTTP/1.1\r\nHost: localhost\r\n",
    "ready plan": b"POST /v1/plan?ready=@ HTTP/1.1\r\nHost: localhost\r\n",
    "version": b"GET /v1/groups HTTP/1.@\r\nHost: localhost\r\n",
    "address": b"GET http://@/v1/groups HTTP/1.1\r\nHost: localhost\r\n",
    "Host": b"GET /v1/groups HTTP/1.1\r\nHost: @\r\n",
    "name of a header": b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\nX@: 1\r\n",
    **{
        name: b"POST /v1/seed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n%s: @\r\n" % name.encode()
        for name in (
            "Origin", "Sec-Fetch-Site", "Expect", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Cookie", "Range", "Upgrade",
            "Connection", "If-Match", "Accept", "Referer", "User-Agent", "X-Forwarded-For",
        )
    },
}  # fmt: skip
HALVES = {
    "nothing": b"",
    "half a line": b"GET /v1/gro",
    "half of the headers": b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\nX-",
    "no end of the headers": b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\n",
    "half a body": b'POST /v1/seed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"se',
    "half of a chunk": b'POST /v1/seed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"se',
    "a body that nobody wants": b"POST /v1/nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
    "a body of somebody else": b"POST /v1/seed HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 99\r\n\r\n{",
    "half a request behind a whole one": b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/gro",
    "an upgrade to nothing": b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81",
}


@asynccontextmanager
async def served(token: str | None = None, **more: Any) -> AsyncIterator[Control]:
    """Start a control API with the timeouts that a test chooses."""
    running = await start(resolve({"port": 0, "topic": ("orders:2",), "seed": 1, "log": "off"}), stories=True)
    control = await serve(running, "127.0.0.1", 0, token, lambda old: pytest.fail("nobody resets"), **more)
    yield control
    await control.close()
    assert await control.running.close() is None


async def peer(control: Control) -> AsyncClient:
    return AsyncClient(*await asyncio.open_connection("127.0.0.1", int(control.url.rsplit(":", 1)[1])))


async def said(control: Control, request: bytes) -> tuple[int, bytes]:
    """Send a request that closes its connection and return status and body of the answer."""
    wire = await peer(control)
    wire.write(request)
    try:
        answer = await wire.ended()
    finally:
        wire.writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


async def test_a_trap_of_a_body_is_a_sentence_in_every_route_that_takes_one(api) -> None:
    wrong = {}
    for route in ROUTES:
        # The token endpoint answers as RFC 6749 wants (test_token_endpoint.py).
        if (route.body is Nothing and route.method == "GET") or route.media == FORM:
            continue
        path = re.sub(r"\{\w+\}", "orders" if route.media == JSON_LINES else "1", route.full_path)
        for name, body in DEEP.items():
            status, answer = await api.ask(route.method, path, body)
            if (status, list(answer), "\n" in answer.get("error", "")) != (400, ["error"], False):
                wrong[f"{route.method} {path}: {name}"] = (status, answer)
    assert wrong == {}


async def test_a_packed_body_is_refused(api) -> None:
    """A compressed body of 64 kB could unpack to 64 MB."""
    body = gzip.compress(bytes(1_000_000))
    status, answer = await api.ask("POST", "/v1/plan", body, headers={"Content-Encoding": "gzip"}, skip_auto_headers=["Content-Type"])
    assert (status, answer) == (415, {"error": "body: send it as it is, without Content-Encoding"})


async def test_odd_bytes_are_never_a_defect(caplog) -> None:
    """Invalid bytes get a status from 400 to 417, or 200 if no code reads them, and never cause an error in the log."""
    wrong = {}
    async with served() as control:
        for place, request in PLACES.items():
            for odd in ODD:
                status, body = await said(control, request.replace(b"@", odd, 1) + b'Connection: close\r\n\r\n{"seed":1}')
                if not 200 <= status < 418 or b"Traceback" in body:
                    wrong[place, odd] = (status, body)
    assert wrong == {}
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_odd_bytes_for_a_token_are_no_token() -> None:
    wrong = {}
    async with served(token="secret") as control:
        for given in [start + odd for start in (b"", b"Bearer ", b"Bearer secret", b"Basic ") for odd in ODD]:
            status, body = await said(control, b"GET /v1/groups HTTP/1.0\r\nHost: localhost\r\nAuthorization: %s\r\n\r\n" % given)
            # Control characters make a header invalid, and blanks around a value do not belong to the value (RFC 9110, section 5.5).
            wanted = 200 if given == b"Bearer secret\t" else 400 if re.search(rb"[\0-\x08\n\x1b\x7f]", given) else 401
            if status != wanted:
                wrong[given] = (status, body)
    assert wrong == {}


async def test_who_may_not_ask_is_not_asked_for_the_body() -> None:
    async with served(token="secret") as control:
        request = b"POST /v1/seed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n"
        assert (await said(control, request))[0] == 401


async def test_half_a_request_is_closed() -> None:
    async with served(patience=Patience(half=SHORT, idle=SHORT)) as control:
        wires = [await peer(control) for _ in HALVES]
        for wire, half in zip(wires, HALVES.values(), strict=True):
            wire.write(half)
        for name, wire in zip(HALVES, wires, strict=True):
            try:
                await wire.ended()
            except ConnectionResetError:  # The server closes a connection with unread bytes, so the client may read a reset.
                pass
            except TimeoutError:
                pytest.fail(f"{name} is not closed")
            wire.writer.close()
        await until(lambda: len(control.visitors) == 0)


async def test_drop_by_drop_is_half_a_request_too() -> None:
    """The timeout counts from the first byte, so sending single bytes does not extend it."""
    async with served(patience=Patience(half=SHORT)) as control:
        wire = await peer(control)
        ending = asyncio.ensure_future(wire.reader.read())
        for _ in range(10_000):
            if ending.done():
                break
            wire.write(b"X")
            await asyncio.wait([ending], timeout=SHORT / 10)
        assert ending.done()
        wire.writer.close()


async def test_a_connection_that_is_not_used_is_closed() -> None:
    async with served(patience=Patience(half=3600, idle=SHORT)) as control:
        wire = await peer(control)
        wire.write(b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await wire.ended()).endswith(b"[]\n")
        wire.writer.close()


class Pipe:
    """A transport that can only be aborted."""

    def __init__(self) -> None:
        self.broken = asyncio.Event()
        self.abort = self.broken.set


def visitor(patience: Patience) -> tuple[Visitor, Pipe]:
    made, pipe = Visitor(asyncio.Protocol(), patience, lambda *_: None), Pipe()
    made.connection_made(cast(asyncio.Transport, pipe))
    return made, pipe


async def broken(pipe: Pipe) -> None:
    async with asyncio.timeout(60):
        await pipe.broken.wait()


async def test_no_time_runs_while_the_server_works() -> None:
    served_one, its = visitor(Patience(SHORT, SHORT, SHORT))
    served_one.whole()
    served_one.data_received(b"the next request")
    _, half = visitor(Patience(half=SHORT))
    await broken(half)
    assert not its.broken.is_set()
    served_one.answered()
    await broken(its)


async def test_an_answer_that_is_not_read_is_given_up() -> None:
    made, pipe = visitor(Patience(half=3600, idle=3600, unread=SHORT))
    made.whole()
    made.answered()
    made.pause_writing()
    await broken(pipe)
    made.connection_lost(None)


async def test_who_reads_on_is_given_time() -> None:
    made, pipe = visitor(Patience(half=3600, idle=3600, unread=SHORT))
    made.whole()
    made.answered()
    made.pause_writing()
    made.resume_writing()
    _, other = visitor(Patience(half=SHORT))
    await broken(other)
    assert not pipe.broken.is_set()
    made.connection_lost(None)


async def test_only_so_many_connections_at_a_time() -> None:
    async with served(most=2) as control:
        first, second, third = [await peer(control) for _ in range(3)]
        await until(lambda: len(control.visitors) == 2)
        for wire in (third, second):
            wire.write(b"GET /v1/groups HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in await second.reader.readuntil(b"[]\n")
        assert len(control.visitors) == 2
        first.writer.close()
        assert b"200 OK" in await third.reader.readuntil(b"[]\n")
        for wire in (second, third):
            wire.writer.close()


def test_what_is_served_with() -> None:
    given: dict[str, inspect.Parameter] = dict(inspect.signature(cast(Callable[..., Any], serve)).parameters)
    assert (given["patience"].default, given["most"].default) == (PATIENCE, MAX_VISITORS)
    assert (PATIENCE.half, MAX_VISITORS) == (5.0, 256)


async def test_bad_http_is_told_and_not_logged(api, caplog) -> None:
    status, body = await said(api.control, b"\x16\x03\x01\x02\x00 what\r\n\r\n")
    assert (status, caplog.records) == (400, [])
    assert b"Traceback" not in body
    assert json.loads(json.dumps(await api.get("/v1/health")))["ok"]


async def test_a_client_that_hangs_up_waits_no_longer(api) -> None:
    asking = asyncio.ensure_future(api.ask("GET", "/v1/journal/wait", params={"kind": "moved", "timeout": "3600"}))
    await until(lambda: api.control.context.arrivals.waiting == 1)
    asking.cancel()
    await until(lambda: api.control.context.arrivals.waiting == 0)


async def test_reset_completes_after_its_client_disconnects(api) -> None:
    """aiohttp cancels the handler of a disconnected client, and a half-finished reset would leave no cluster."""
    before = api.control.running
    release = asyncio.Event()
    restart = api.control.context._restart

    async def held(old: Any, config: Any) -> Any:
        await release.wait()
        return await restart(old, config)

    api.control.context._restart = held
    asking = asyncio.ensure_future(api.ask("POST", "/v1/reset"))
    await until(lambda: api.control.context._resets)
    asking.cancel()
    await until(lambda: len(api.control.visitors) == 0)
    release.set()
    await api.control.context.settle()
    assert api.control.running is not before
    assert (await api.get("/v1/health"))["ok"]
