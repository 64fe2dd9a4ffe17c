"""The table of routes on a port of its own, by aiohttp: token, one sentence per error, nothing from other people's web pages."""

from __future__ import annotations

import hmac
import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ..config.resolve import LOOPBACK, Config
from ..net.listen import bracketed, listen
from ..text.bounded import MAX_BYTES
from ..text.printable import ascii_json
from ..text.suggest import did_you_mean
from . import page
from .context import ControlContext
from .route import EVENTS, JSON, ControlCall, Document, Nothing, Route, Stream, read_body, read_strings, said, status_of
from .routes import ROUTES
from .visitor import MAX_VISITORS, PATIENCE, Patience, Reception

if TYPE_CHECKING:
    from ..server.running import Running

OWN_PAGES: Final = ("same-origin", "none")
"""Values of Sec-Fetch-Site: a page of this very address, and an address that somebody typed."""

CONTINUE: Final = "100-continue"

Handler = Callable[[Any], Awaitable[web.StreamResponse]]


class Control:
    """A control API that serves. `url` is where."""

    def __init__(self, context: ControlContext, runner: web.AppRunner, visitors: Reception, url: str) -> None:
        self.context = context
        self.url = url
        self._runner = runner
        self.visitors = visitors

    @property
    def running(self) -> Running:
        """The cluster of the moment: a reset makes another."""
        return self.context.running

    async def close(self) -> None:
        """Stop serving; who waits for rows is sent away."""
        await self.visitors.close()
        await self._runner.cleanup()
        await self.context.settle()


async def serve(
    running: Running,
    host: str,
    port: int,
    token: str | None,
    restart: Callable[[Running, Config], Awaitable[Running]],
    patience: Patience = PATIENCE,
    most: int = MAX_VISITORS,
) -> Control:
    """Serve on the running loop, `most` connections at a time. Raises OSError when the port is taken."""
    listener = listen(host, port)
    context = ControlContext(running, restart)
    visitors = Reception(patience, most)
    # aiohttp waits 60 s for open requests by default: one that waits for rows would hold up the end of the server. Cancellation: one whose
    # client has gone would wait on. Decompression: a body is bounded before it is unpacked, so none is.
    runner = web.AppRunner(
        _application(context, visitors),
        access_log=None, logger=_logger(), shutdown_timeout=0.5, handle_signals=False, handler_cancellation=True, auto_decompress=False,
    )  # fmt: skip
    await runner.setup()
    assert runner.server is not None
    # Outside of the application: who may not ask is told so, and not which routes there are, nor to send the body that it announced.
    runner.server.request_handler = _timed(visitors, _guarded(host, token, runner.server.request_handler))
    visitors.open(listener, runner.server, context.cannot_accept)
    return Control(context, runner, visitors, f"http://{bracketed(host)}:{listener.getsockname()[1]}")


def _logger() -> logging.Logger:
    """aiohttp's, without tracebacks of what peers send instead of HTTP: they are told by 400."""
    logger = logging.getLogger(__name__)
    logger.addFilter(_is_ours)
    return logger


def _is_ours(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError | UnicodeError))


def _application(context: ControlContext, visitors: Reception) -> web.Application:
    application = web.Application(middlewares=[_errors], client_max_size=MAX_BYTES)
    for route in ROUTES:
        application.router.add_route(route.method, route.full_path, _handler(context, visitors, route))
    return application


def _handler(context: ControlContext, visitors: Reception, route: Route) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        path = read_strings(dict(request.match_info), route.params, "path") if route.params is not Nothing else Nothing()
        query = read_strings(dict(request.query), route.query, "query")
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return _refused(415, "body: send it as it is, without Content-Encoding")
        raw = await _body(request, visitors, route.most)
        if raw is None:
            return _refused(413, f"body: more than {route.most} bytes")
        if (visitor := visitors.visitor(request.protocol)) is not None:
            visitor.whole()
        body = Nothing() if route.text or route.method == "GET" else read_body(raw, route.body)
        value = await route.do(context, ControlCall(path, query, body, raw, request.headers.get("Last-Event-ID", "")))
        return await _streamed(request, value) if isinstance(value, Stream) else _answered(value)

    return handle


async def _body(request: web.Request, visitors: Reception, most: int) -> bytes | None:
    """What was sent; None: more than `most` bytes."""
    try:
        if most == MAX_BYTES:
            return await request.read()
        async with visitors.large:
            return await request.clone(client_max_size=most).read()
    except web.HTTPRequestEntityTooLarge:
        return None


async def _streamed(request: web.Request, stream: Stream) -> web.StreamResponse:
    """What is written waits until the peer has read most of what was written before; one that reads nothing is hung up on (`visitor`)."""
    response = web.StreamResponse(headers={"Content-Type": EVENTS, "Cache-Control": "no-store", **page.HEADERS})
    try:
        await response.prepare(request)
        async for part in stream.parts:
            await response.write(part)
        await response.write_eof()
    except ConnectionError:  # the reader has hung up, perhaps before its first event: aiohttp would log that as an error of ours
        pass
    finally:
        stream.close()
    return response


def _answered(value: Any) -> web.Response:
    if isinstance(value, Document):
        headers = {"Content-Type": f"{value.media}; charset=utf-8", "Cache-Control": "no-cache", **page.HEADERS}
        return web.Response(body=value.body, headers=headers)
    if isinstance(value, bytes):
        return web.Response(body=value, content_type="text/plain", charset="utf-8")
    return web.Response(body=ascii_json(msgspec.json.encode(value)) + b"\n", content_type=JSON)


def _refused(status: int, text: str, **headers: str) -> web.Response:
    return web.Response(status=status, body=_object(error=text), content_type=JSON, headers=headers)


def _object(**texts: str) -> bytes:
    # aiohttp reads bytes that are no UTF-8 as surrogates, which JSON cannot say.
    return ascii_json(msgspec.json.encode({name: text.encode(errors="backslashreplace").decode() for name, text in texts.items()})) + b"\n"


def _timed(visitors: Reception, handler: Handler) -> Handler:
    """Says when an answer is made."""

    async def timed(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await handler(request)
        finally:
            if (visitor := visitors.visitor(request.protocol)) is not None:
                visitor.answered()

    return timed


def _guarded(host: str, token: str | None, handler: Handler) -> Handler:
    """A token where one is set. A page of another site that the browser of a developer shows can reach loopback, too: it says so by an
    Origin header, by Sec-Fetch-Site where a GET has none (images, links), or names another host (DNS rebinding)."""

    async def guarded(request: web.BaseRequest) -> web.StreamResponse:
        # An IPv6 address without a port ends in a bracket, and its last colon is no port's.
        named = request.host.rsplit(":", 1)[0].strip("[]") if not request.host.endswith("]") else request.host.strip("[]")
        if host in LOOPBACK and named not in LOOPBACK:
            return _refused(403, f"host {named!r} is not this one: ask by {host}")
        if "Origin" in request.headers and request.headers["Origin"] != f"{request.scheme}://{request.host}":
            return _refused(403, f"pages of {request.headers['Origin']} may not steer this cluster")
        site = request.headers.get("Sec-Fetch-Site", "none")
        if site not in OWN_PAGES:
            return _refused(403, f"pages of other sites may not ask this cluster (Sec-Fetch-Site: {site})")
        given = request.headers.get("Authorization", "")
        # The time that it takes tells nothing of the token. As bytes: compare_digest refuses texts that are not ASCII.
        if (
            token is not None
            and not page.is_part(request.path)
            and not hmac.compare_digest(given.encode(errors="surrogateescape"), f"Bearer {token}".encode())
        ):
            return _refused(401, "a token is wanted: Authorization: Bearer TOKEN", **{"WWW-Authenticate": "Bearer"})
        if request.headers.get("Expect", CONTINUE).lower() != CONTINUE:
            return _refused(417, f"Expect: nothing but {CONTINUE} can be expected")
        return await handler(request)

    return guarded


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPMethodNotAllowed as wrong:
        may = ", ".join(sorted(wrong.allowed_methods - {"HEAD"}))
        return _refused(405, f"{request.method} {request.path}: this path takes {may}", Allow=may)
    except web.RequestPayloadError as broken:
        return _refused(400, f"body: {said(broken)}")
    except web.HTTPNotFound:
        near = did_you_mean(request.path, sorted({route.full_path for route in ROUTES}), 2, 0.5)
        return _refused(404, f"no route {request.method} {request.path}: {near or 'GET /openapi.json has them all'}")
    except (web.HTTPException, ConnectionError):
        raise
    except Exception as error:
        status = status_of(error)
        if status is None:
            return _defect(request, error)
        return _refused(status, said(error))


def _defect(request: web.Request, error: Exception) -> web.Response:
    """An error of groupmock itself: said with its traceback, as nobody else will."""
    text = "".join(traceback.format_exception(error))
    body = _object(error=f"internal error in {request.method} {request.path}: {error!r}", traceback=text)
    return web.Response(status=500, body=body, content_type=JSON)
