"""Asks a control API over HTTP, as curl would: for the verbs of the command line and the view in a terminal. Loads no server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

REFUSED: Final = 400


class Refused(Exception):
    """The control API says no; the text is its sentence. `status`: HTTP's."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class NobodyAnswers(Exception):
    """There is no control API where one was looked for."""


def address_of(path: str, parameters: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    """A route's path with its parameters in it, and a query."""
    from urllib.parse import quote, urlencode

    for name, value in parameters.items():
        path = path.replace("{" + name + "}", quote(str(value), safe=""))
    return path + (f"?{urlencode(query)}" if query else "")


class ControlClient:
    """`url`: http://HOST:PORT; `token`: None where none is wanted; `timeout`: seconds that one answer may take, None: for ever."""

    def __init__(self, url: str, token: str | None, timeout: float | None = None) -> None:
        """Raises ValueError: that is no URL."""
        self.url = url.rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"{self.url!r} is no URL: http://127.0.0.1:PORT")
        self._token = token
        self._timeout = timeout

    def ask(self, method: str, address: str, data: bytes | None = None, load: Callable[[bytes], Any] = json.loads) -> Any:
        """The answer to a request, read by `load`. Raises NobodyAnswers, Refused."""
        status, answer = self._ask(method, address, data, load)
        if status >= REFUSED:
            raise Refused(status, str(answer.get("error", answer) if isinstance(answer, dict) else answer))
        return answer

    def _ask(self, method: str, address: str, data: bytes | None, load: Callable[[bytes], Any]) -> tuple[int, Any]:
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import ProxyHandler, Request, build_opener

        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        request = Request(self.url + address, data=data if method != "GET" else None, method=method, headers=headers)
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=self._timeout) as answer:
                return answer.status, load(answer.read())
        except HTTPError as refused:
            with refused:
                return refused.code, _decoded(refused.read())
        except (URLError, HTTPException, OSError) as failure:
            reason = getattr(failure, "reason", failure)
            raise NobodyAnswers(f"no control API at {self.url}: {getattr(reason, 'strerror', None) or reason}") from None


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace").strip() or "no answer"
