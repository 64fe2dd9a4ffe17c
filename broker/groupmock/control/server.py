"""The HTTP server of the control API runs on a port of its own (aiohttp). It checks the token, answers each error in one sentence, and
refuses requests from other web pages."""

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
from .token_calls import TokenRefused
from .visitor import MAX_VISITORS, PATIENCE, Patience, Reception

if TYPE_CHECKING:
    from ..server.running import Running

OWN_PAGES: Final = ("same-origin", "none")
"""The values of the header Sec-Fetch-Site in requests of our own pages and of addresses that somebody typed."""

UNAUTHORIZED: Final = 401
CONTINUE: Final = "100-continue"
FREE_PATHS: Final = frozenset(route.full_path for route in ROUTES if route.free)

Handler = Callable[[Any], Awaitable[web.StreamResponse]]


class Control:
    """A running control API at `url`."""

    def __init__(self, context: ControlContext, runner: web.AppRunner, visitors: Reception, url: str) -> None:
        self.context = context
        self.url = url
        self._runner = runner
        self.visitors = visitors

    @property
    def running(self) -> Running:
        """The cluster that serves at present, which a reset replaces."""
        return self.context.running

    async def close(self) -> None:
        """Stop serving, and end requests that wait for rows."""
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
    """Serve on the running loop, `most` connections at a time. Raises OSError if the port is taken."""
    listener = listen(host, port)
    context = ControlContext(running, restart)
    visitors = Reception(patience, most)
    # shutdown_timeout: by default aiohttp waits 60 s for open requests, so a request that waits for rows would delay the server's end.
    # handler_cancellation: without it a request would wait on after its client has gone. auto_decompress: a body's size is bounded before
    # it is unpacked, so packed bodies are refused.
    runner = web.AppRunner(
        _application(context, visitors),
        access_log=None, logger=_logger(), shutdown_timeout=0.5, handle_signals=False, handler_cancellation=True, auto_decompress=False,
    )  # fmt: skip
    await runner.setup()
    assert runner.server is not None
    # The token is checked outside of the application, so that an unauthorized caller learns no routes and uploads no body.
    runner.server.request_handler = _timed(visitors, _guarded(host, token, runner.server.request_handler))
    visitors.open(listener, runner.server, context.cannot_accept)
    return Control(context, runner, visitors, f"http://{bracketed(host)}:{listener.getsockname()[1]}")


def _logger() -> logging.Logger:
    """Return aiohttp's logger without tracebacks for input that is not HTTP, because such peers are answered with 400."""
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
        headers = request.headers
        call = ControlCall(path, query, body, raw, headers.get("Last-Event-ID", ""), headers.get("Authorization", ""))
        value = await route.do(context, call)
        return await _streamed(request, value) if isinstance(value, Stream) else _answered(value)

    return handle


async def _body(request: web.Request, visitors: Reception, most: int) -> bytes | None:
    """Read the body of a request, or return None if the body has more than `most` bytes."""
    try:
        if most == MAX_BYTES:
            return await request.read()
        async with visitors.large:
            return await request.clone(client_max_size=most).read()
    except web.HTTPRequestEntityTooLarge:
        return None


async def _streamed(request: web.Request, stream: Stream) -> web.StreamResponse:
    """Answer a request with a stream of events. Each write waits until the peer has read most of the earlier events; `visitor` closes a
    connection whose peer reads nothing."""
    response = web.StreamResponse(headers={"Content-Type": EVENTS, "Cache-Control": "no-store", **page.HEADERS})
    try:
        await response.prepare(request)
        async for part in stream.parts:
            await response.write(part)
        await response.write_eof()
    # The reader has disconnected, perhaps before its first event; aiohttp would log that as an error of the server.
    except ConnectionError:
        pass
    finally:
        stream.close()
    return response


def _answered(value: Any) -> web.Response:
    if isinstance(value, Document):
        headers = {"Content-Type": f"{value.media}; charset=utf-8", "Cache-Control": "no-cache", **page.HEADERS}
        if value.file:
            headers["Content-Disposition"] = f'attachment; filename="{value.file}"'
        return web.Response(body=value.body, headers=headers)
    if isinstance(value, bytes):
        return web.Response(body=value, content_type="text/plain", charset="utf-8")
    return web.Response(body=ascii_json(msgspec.json.encode(value)) + b"\n", content_type=JSON)


def _refused(status: int, text: str, **headers: str) -> web.Response:
    return web.Response(status=status, body=_object(error=text), content_type=JSON, headers=headers)


def _object(**texts: str) -> bytes:
    # aiohttp reads bytes that are not UTF-8 as surrogates, which JSON cannot hold.
    return ascii_json(msgspec.json.encode({name: text.encode(errors="backslashreplace").decode() for name, text in texts.items()})) + b"\n"


def _timed(visitors: Reception, handler: Handler) -> Handler:
    """Wrap a handler, so that the timeout of the connection begins when the answer is made."""

    async def timed(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await handler(request)
        finally:
            if (visitor := visitors.visitor(request.protocol)) is not None:
                visitor.answered()

    return timed


def _guarded(host: str, token: str | None, handler: Handler) -> Handler:
    """Check the token, if one is set, and refuse requests from other web pages. A page in a developer's browser can reach loopback, too.
    Such a request has an Origin header, has Sec-Fetch-Site if it is a GET without one (images, links), or names another host (DNS
    rebinding)."""

    async def guarded(request: web.BaseRequest) -> web.StreamResponse:
        # An IPv6 address without a port ends in a bracket, and its last colon belongs to the address.
        named = request.host.rsplit(":", 1)[0].strip("[]") if not request.host.endswith("]") else request.host.strip("[]")
        if host in LOOPBACK and named not in LOOPBACK:
            return _refused(403, f"host {named!r} is not this one: ask by {host}")
        if "Origin" in request.headers and request.headers["Origin"] != f"{request.scheme}://{request.host}":
            return _refused(403, f"pages of {request.headers['Origin']} may not steer this cluster")
        site = request.headers.get("Sec-Fetch-Site", "none")
        if site not in OWN_PAGES:
            return _refused(403, f"pages of other sites may not ask this cluster (Sec-Fetch-Site: {site})")
        given = request.headers.get("Authorization", "")
        # compare_digest is used so that its duration reveals nothing about the token. It gets bytes, because it refuses texts that are not
        # ASCII.
        if (
            token is not None
            and not page.is_part(request.path)
            and request.path not in FREE_PATHS
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
    except TokenRefused as refused:
        headers = {"WWW-Authenticate": "Basic"} if refused.status == UNAUTHORIZED else {}
        body = _object(error=refused.error, error_description=refused.description)
        return web.Response(status=refused.status, body=body, content_type=JSON, headers=headers)
    except Exception as error:
        status = status_of(error)
        if status is None:
            return _defect(request, error)
        return _refused(status, said(error))


def _defect(request: web.Request, error: Exception) -> web.Response:
    """Answer a defect of groupmock with its traceback, because no log has the traceback."""
    text = "".join(traceback.format_exception(error))
    body = _object(error=f"internal error in {request.method} {request.path}: {error!r}", traceback=text)
    return web.Response(status=500, body=body, content_type=JSON)
