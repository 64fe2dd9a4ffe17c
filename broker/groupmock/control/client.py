"""An HTTP client of the control API, for the verbs of the command line and the view in a terminal. It imports no server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

REFUSED: Final = 400


class Refused(Exception):
    """Raised if the control API refused a request. The text is its sentence, `status` the HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class NobodyAnswers(Exception):
    """Raised if no control API answers at the given URL."""


def address_of(path: str, parameters: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    """Return the path of a route with its parameters filled in and the query appended."""
    from urllib.parse import quote, urlencode

    for name, value in parameters.items():
        path = path.replace("{" + name + "}", quote(str(value), safe=""))
    return path + (f"?{urlencode(query)}" if query else "")


class ControlClient:
    """A client of the control API at `url` (http://HOST:PORT). `token` is None if none is needed; `timeout` is in seconds, None for no
    limit."""

    def __init__(self, url: str, token: str | None, timeout: float | None = None) -> None:
        """Raise ValueError if `url` is not a URL."""
        self.url = url.rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"{self.url!r} is no URL: http://127.0.0.1:PORT")
        self._token = token
        self._timeout = timeout

    def ask(self, method: str, address: str, data: bytes | None = None, load: Callable[[bytes], Any] = json.loads) -> Any:
        """Send a request and return its answer, decoded by `load`. Raises NobodyAnswers, Refused."""
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
