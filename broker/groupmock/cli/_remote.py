"""Verbs that talk to a control API: made from its table of routes, a word per route."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Final

from . import BAD_USE, BROKEN, CANNOT_START, OK, UNKNOWN
from ._options import complain

URL: Final = "GROUPMOCK_CONTROL_URL"
TOKEN: Final = "GROUPMOCK_TOKEN"
TIMED_OUT: Final = 408
REFUSED: Final = 400
DEFECT: Final = 500
EPILOG: Final = """
The control API is where `serve --control PORT` says (`control` in its ready line): --control URL, or the variable GROUPMOCK_CONTROL_URL.
Prints its answer as JSON. Exit codes: 0 done, 1 what was waited for did not happen, 2 it cannot be done as asked, 3 nobody answers.
"""


class NobodyAnswers(Exception):
    """There is no control API where one was looked for."""


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> dict[str, argparse.ArgumentParser]:
    """A sub-command per route of that verb, its arguments from the route's parameters and body; returns their parsers by their words."""
    from ..control.routes import ROUTES

    parser.epilog = EPILOG
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True)
    for route in ROUTES:
        if route.verb is None or route.verb[0] != verb:
            continue
        one = words.add_parser(route.verb[1], help=route.about, description=route.about, allow_abbrev=False)
        one.set_defaults(route=route)
        one.add_argument("--control", metavar="URL", default=os.environ.get(URL), help=f"where the control API is (default: ${URL})")
        one.add_argument("--token", default=os.environ.get(TOKEN), help=f"its token (default: ${TOKEN})")
        for struct, positional in ((route.params, True), (route.query, False), *(() if route.text else ((route.body, True),))):
            _add_fields(one, struct, positional)
        if route.text:
            plan = route.path == "/plan"
            what = "a plan file, - for standard input, or the name of a ready plan" if plan else "a rule in JSON, a file, or -"
            one.add_argument("text", metavar="PLAN" if plan else "RULE", help=what)
    return words.choices


def _add_fields(parser: argparse.ArgumentParser, struct: type, positional: bool) -> None:
    import msgspec

    for field in msgspec.structs.fields(struct):
        kind = msgspec.inspect.type_info(field.type)
        about = (kind.extra_json_schema or {}).get("description", "") if isinstance(kind, msgspec.inspect.Metadata) else ""
        several = isinstance(_bare(kind), msgspec.inspect.ListType | msgspec.inspect.VarTupleType)
        more: dict[str, Any] = {"nargs": "+"} if several else {}
        if field.required and positional:
            parser.add_argument(field.name, metavar=field.name.upper(), help=about, **more)
        else:
            default = "" if field.default in (None, "", (), msgspec.NODEFAULT) else f" (default {json.dumps(field.default)})"
            flag = f"--{field.name.replace('_', '-')}"
            parser.add_argument(flag, dest=field.name, metavar=field.name.upper(), help=f"{about}{default}", **more)


def _bare(kind: Any) -> Any:
    import msgspec

    return kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind


def run(arguments: argparse.Namespace) -> int:
    """Ask and print; returns the exit code."""
    from ..config import token_of
    from ..control.route import read_strings

    verb, route = arguments.route.verb, arguments.route
    said = " ".join(verb)
    if not arguments.control:
        complain(said, ValueError(f"where is the control API? --control URL, or the variable {URL} (`serve --control PORT` prints it)"))
        return BAD_USE
    try:
        arguments.token = token_of(arguments.token or None, f"--token, or the variable {TOKEN}")
        path, query, body = (given(arguments, struct) for struct in (route.params, route.query, route.body))
        for texts, struct, what in ((path, route.params, "argument"), (query, route.query, "option")):
            read_strings(texts, struct, what)
        data = _text(arguments, query) if route.text else _encoded(body, route.body)
        status, answer = _ask(arguments, route.method, _address(route.full_path, path, query), data)
    except (ValueError, OSError) as bad:
        complain(said, bad)
        return BAD_USE
    except NobodyAnswers as nobody:
        complain(said, nobody)
        return CANNOT_START
    if status < REFUSED:
        print(json.dumps(answer, indent=2))
        return OK
    complain(said, ValueError(answer.get("error", answer) if isinstance(answer, dict) else answer))
    return BROKEN if status == TIMED_OUT else UNKNOWN if status >= DEFECT else BAD_USE


def given(arguments: argparse.Namespace, struct: type) -> dict[str, Any]:
    """The texts that were given for the fields of a struct."""
    import msgspec

    names = [field.name for field in msgspec.structs.fields(struct)]
    return {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


def _encoded(values: dict[str, Any], struct: type) -> bytes:
    import msgspec

    from ..control.route import read_strings

    checked = read_strings(values, struct, "argument")
    return msgspec.json.encode({name: value for name, value in msgspec.to_builtins(checked).items() if name in values})


def _text(arguments: argparse.Namespace, query: dict[str, Any]) -> bytes:
    text: str = arguments.text
    if text == "-":
        return sys.stdin.buffer.read()
    if text.lstrip().startswith("{"):
        return text.encode()
    if not os.path.exists(text) and os.sep not in text and arguments.route.path == "/plan":
        query["ready"] = text
        return b""
    with open(text, "rb") as file:
        return file.read()


def _address(path: str, parameters: dict[str, Any], query: dict[str, Any]) -> str:
    from urllib.parse import quote, urlencode

    for name, value in parameters.items():
        path = path.replace("{" + name + "}", quote(str(value), safe=""))
    return path + (f"?{urlencode(query)}" if query else "")


def _ask(arguments: argparse.Namespace, method: str, address: str, data: bytes) -> tuple[int, Any]:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    url: str = arguments.control.rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is no URL: http://127.0.0.1:PORT")
    headers = {"Authorization": f"Bearer {arguments.token}"} if arguments.token else {}
    request = Request(url + address, data=data if method != "GET" else None, method=method, headers=headers)
    try:
        with build_opener(ProxyHandler({})).open(request) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as refused:
        with refused:
            return refused.code, _decoded(refused.read())
    except (URLError, HTTPException, OSError) as failure:
        reason = getattr(failure, "reason", failure)
        raise NobodyAnswers(f"no control API at {url}: {getattr(reason, 'strerror', None) or reason}") from None


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace").strip() or "no answer"
