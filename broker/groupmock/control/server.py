"""The table of routes on a port of its own, by aiohttp: token, one sentence per error, nothing from other people's web pages."""

from __future__ import annotations

import hmac
import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from ..config import LOOPBACK
from ..net.listen import bracketed, listen
from ..suggest import did_you_mean
from .context import ControlContext
from .route import ControlCall, Nothing, Route, read_body, read_strings, said, status_of
from .routes import ROUTES

if TYPE_CHECKING:
    from ..running import Running

MAX_BODY: Final = 4 * 1024 * 1024
JSON: Final = "application/json"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    """A control API that serves. `url` is where."""

    def __init__(self, context: ControlContext, runner: web.AppRunner, url: str) -> None:
        self.context = context
        self.url = url
        self._runner = runner

    @property
    def running(self) -> Running:
        """The cluster of the moment: a reset makes another."""
        return self.context.running

    async def close(self) -> None:
        """Stop serving; who waits for rows is sent away."""
        await self._runner.cleanup()


async def serve(running: Running, host: str, port: int, token: str | None, restart: Callable[[Running], Awaitable[Running]]) -> Control:
    """Serve on the running loop. Raises OSError when the port is taken."""
    listener = listen(host, port)
    context = ControlContext(running, restart)
    # aiohttp waits 60 s for open requests by default: one that waits for rows would hold up the end of the server.
    runner = web.AppRunner(_application(context, host, token), access_log=None, shutdown_timeout=0.5, handle_signals=False)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    return Control(context, runner, f"http://{bracketed(host)}:{listener.getsockname()[1]}")


def _application(context: ControlContext, host: str, token: str | None) -> web.Application:
    # The guard is outside: who may not ask is told so, and not which routes and fields there are.
    application = web.Application(middlewares=[_guard(host, token), _errors], client_max_size=MAX_BODY)
    for route in ROUTES:
        application.router.add_route(route.method, route.full_path, _handler(context, route))
    return application


def _handler(context: ControlContext, route: Route) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        path = read_strings(dict(request.match_info), route.params, "path") if route.params is not Nothing else Nothing()
        query = read_strings(dict(request.query), route.query, "query")
        raw = await request.read()
        body = Nothing() if route.text or route.method == "GET" else read_body(raw, route.body)
        return _answered(await route.do(context, ControlCall(path, query, body, raw)))

    return handle


def _answered(value: Any) -> web.Response:
    if isinstance(value, bytes):
        return web.Response(body=value, content_type="text/plain", charset="utf-8")
    return web.Response(body=msgspec.json.encode(value) + b"\n", content_type=JSON)


def _refused(status: int, text: str, **headers: str) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode({"error": text}) + b"\n", content_type=JSON, headers=headers)


def _guard(host: str, token: str | None) -> Any:
    """A token where one is set. A page of another site that the browser of a developer shows can reach loopback, too: it says so by an
    Origin header, or names another host (DNS rebinding)."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        # An IPv6 address without a port ends in a bracket, and its last colon is no port's.
        named = request.host.rsplit(":", 1)[0].strip("[]") if not request.host.endswith("]") else request.host.strip("[]")
        if host in LOOPBACK and named not in LOOPBACK:
            return _refused(403, f"host {named!r} is not this one: ask by {host}")
        if "Origin" in request.headers and request.headers["Origin"] != f"{request.scheme}://{request.host}":
            return _refused(403, f"pages of {request.headers['Origin']} may not steer this cluster")
        given = request.headers.get("Authorization", "")
        # The time that it takes tells nothing of the token. As bytes: compare_digest refuses texts that are not ASCII.
        if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return _refused(401, "a token is wanted: Authorization: Bearer TOKEN", **{"WWW-Authenticate": "Bearer"})
        return await handler(request)

    return guard


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPMethodNotAllowed as wrong:
        may = ", ".join(sorted(wrong.allowed_methods - {"HEAD"}))
        return _refused(405, f"{request.method} {request.path}: this path takes {may}", Allow=may)
    except web.HTTPRequestEntityTooLarge:
        return _refused(413, f"body: more than {MAX_BODY} bytes")
    except web.HTTPNotFound:
        near = did_you_mean(request.path, sorted({route.full_path for route in ROUTES}), 2, 0.5)
        return _refused(404, f"no route {request.method} {request.path}: {near or 'GET /openapi.json has them all'}")
    except web.HTTPException:
        raise
    except Exception as error:
        status = status_of(error)
        if status is None:
            return _defect(request, error)
        return _refused(status, said(error))


def _defect(request: web.Request, error: Exception) -> web.Response:
    """An error of groupmock itself: said with its traceback, as nobody else will."""
    text = "".join(traceback.format_exception(error))
    return web.Response(
        status=500,
        body=msgspec.json.encode({"error": f"internal error in {request.method} {request.path}: {error!r}", "traceback": text}) + b"\n",
        content_type=JSON,
    )
