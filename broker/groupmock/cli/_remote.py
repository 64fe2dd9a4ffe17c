"""Make the verbs that talk to a control API from its table of routes, with one sub-command for each route."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from ..control.client import ControlClient, NobodyAnswers, Refused, address_of
from . import BAD_USE, BROKEN, CANNOT_START, OK, UNKNOWN
from ._options import complain

URL: Final = "GROUPMOCK_CONTROL_URL"
TOKEN: Final = "GROUPMOCK_TOKEN"
TIMED_OUT: Final = 408
DEFECT: Final = 500
EPILOG: Final = """
The control API is where `serve --control PORT` says (`control` in its ready line): --control URL, or the variable GROUPMOCK_CONTROL_URL.
Prints its answer as JSON. Exit codes: 0 done, 1 what was waited for did not happen, 2 it cannot be done as asked, 3 nobody answers.
"""
TEXTS: Final = {
    "/plan": ("PLAN", "a plan file, - for standard input, or the name of a ready plan"),
    "/faults": ("RULE", "a rule in JSON, a file, or -"),
}
"""Maps a route to the command-line argument that holds the body of its request."""
FILE: Final = ("FILE", "JSON Lines: a file, - for standard input, or one line as it is")


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> dict[str, argparse.ArgumentParser]:
    """Add a sub-command for each route of the verb, with arguments from the route's parameters and body. Returns their parsers by name."""
    from ..control.routes import ROUTES

    parser.epilog = EPILOG
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True)
    for route in ROUTES:
        if route.verb is None or route.verb[0] != verb:
            continue
        one = words.add_parser(route.verb[1], help=route.about, description=route.about, allow_abbrev=False)
        one.set_defaults(route=route)
        add_where(one)
        for struct, positional in ((route.params, True), (route.query, False), *(() if route.text else ((route.body, True),))):
            _add_fields(one, struct, positional)
        if route.text:
            metavar, what = TEXTS.get(route.path, FILE)
            one.add_argument("text", metavar=metavar, help=what)
    return words.choices


def add_where(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the URL of the control API and for its token."""
    parser.add_argument("--control", metavar="URL", default=os.environ.get(URL), help=f"where the control API is (default: ${URL})")
    parser.add_argument("--token", default=os.environ.get(TOKEN), help=f"its token (default: ${TOKEN})")


def _add_fields(parser: argparse.ArgumentParser, struct: type, positional: bool) -> None:
    import msgspec

    for field in msgspec.structs.fields(struct):
        kind = msgspec.inspect.type_info(field.type)
        about = (kind.extra_json_schema or {}).get("description", "") if isinstance(kind, msgspec.inspect.Metadata) else ""
        more = _how_many(field.type)
        if field.required and positional:
            parser.add_argument(field.name, metavar=field.name.upper(), help=about, **more)
        else:
            default = "" if field.default in (None, "", (), msgspec.NODEFAULT) else f" (default {json.dumps(field.default)})"
            flag = f"--{field.name.replace('_', '-')}"
            parser.add_argument(flag, dest=field.name, metavar=field.name.upper(), help=f"{about}{default}", **more)


def _how_many(declared: Any) -> dict[str, Any]:
    """Return how many words argparse accepts for a field: several for a list or a table, an optional one for a boolean."""
    import msgspec

    kinds = _kinds(msgspec.inspect.type_info(declared))
    if any(isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType | msgspec.inspect.DictType) for kind in kinds):
        return {"nargs": "+"}
    return {"nargs": "?", "const": "true"} if any(isinstance(kind, msgspec.inspect.BoolType) for kind in kinds) else {}


def _kinds(kind: Any) -> list[Any]:
    """Return the members of a union type, or the type itself."""
    import msgspec

    if isinstance(kind, msgspec.inspect.Metadata):
        return _kinds(kind.type)
    return [one for each in kind.types for one in _kinds(each)] if isinstance(kind, msgspec.inspect.UnionType) else [kind]


def run(arguments: argparse.Namespace) -> int:
    """Ask the control API, print its answer and return the exit code."""
    return reporting(arguments, _print_answer)


def _print_answer(arguments: argparse.Namespace) -> int:
    print(json.dumps(ask(arguments), indent=2))
    return OK


def reporting(arguments: argparse.Namespace, do: Callable[[argparse.Namespace], int], command: str = "") -> int:
    """Call `do` and turn its errors into a line on stderr and an exit code. `command` has the words of a command that has no route."""
    from ..config.resolve import token_of

    command = command or " ".join(arguments.route.verb)
    if not arguments.control:
        complain(command, ValueError(f"where is the control API? --control URL, or the variable {URL} (`serve --control PORT` prints it)"))
        return BAD_USE
    try:
        arguments.token = token_of(arguments.token or None, f"--token, or the variable {TOKEN}")
        return do(arguments)
    except BrokenPipeError:  # The reader of a pipe has ended, as in `groupmock records read orders | head`.
        raise
    except (ValueError, OSError) as bad:
        complain(command, bad)
        return BAD_USE
    except NobodyAnswers as nobody:
        complain(command, nobody)
        return CANNOT_START
    except Refused as refused:
        complain(command, refused)
        return BROKEN if refused.status == TIMED_OUT else UNKNOWN if refused.status >= DEFECT else BAD_USE


def ask(arguments: argparse.Namespace, text: bytes | None = None, load: Callable[[bytes], Any] = json.loads) -> Any:
    """Ask the control API and return the answer as `load` decodes it. `text` is the body; with None the arguments give the body. Raises
    ValueError, OSError, NobodyAnswers, Refused."""
    from ..control.route import read_strings

    route = arguments.route
    path, query, body = (given(arguments, struct) for struct in (route.params, route.query, route.body))
    for texts, struct, what in ((path, route.params, "argument"), (query, route.query, "option")):
        read_strings(texts, struct, what)
    if not route.text:
        data = _encoded(body, route.body)
    else:
        data = text_of(arguments, query) if text is None else text
    client = ControlClient(arguments.control, arguments.token)
    return client.ask(route.method, address_of(route.full_path, path, query), data, load)


def given(arguments: argparse.Namespace, struct: type) -> dict[str, Any]:
    """Return the arguments that were given for the fields of a struct."""
    import msgspec

    found = {field.name: (field.type, getattr(arguments, field.name, None)) for field in msgspec.structs.fields(struct)}
    return {name: _read(declared, value) for name, (declared, value) in found.items() if value is not None}


def _read(declared: Any, value: Any) -> Any:
    """Convert the words of an argument: words KEY=VALUE become a table, and some structs parse a word on their own."""
    import msgspec

    for kind in _kinds(msgspec.inspect.type_info(declared)) if isinstance(value, list) else ():
        if isinstance(kind, msgspec.inspect.DictType):
            return dict(_pair(word) for word in value)
        item = getattr(kind, "item_type", None)
        if isinstance(item, msgspec.inspect.StructType) and hasattr(item.cls, "parse"):
            return [msgspec.to_builtins(item.cls.parse(word)) for word in value]
    return value


def _pair(word: str) -> tuple[str, str]:
    key, mark, value = word.partition("=")
    if not mark:
        raise ValueError(f"{word!r} is not KEY=VALUE")
    return key, value


def _encoded(values: dict[str, Any], struct: type) -> bytes:
    import msgspec

    from ..control.route import read_strings

    checked = read_strings(values, struct, "argument")
    return msgspec.json.encode({name: value for name, value in msgspec.to_builtins(checked).items() if name in values})


def text_of(arguments: argparse.Namespace, query: dict[str, Any]) -> bytes:
    """Return the body that the argument names: its own text, a file or standard input. The name of a ready plan goes into `query` instead.
    """
    text: str = arguments.text
    if text == "-":
        return sys.stdin.buffer.read()
    if text.lstrip().startswith("{"):
        return text.encode(errors="surrogateescape")
    if not os.path.exists(text) and os.sep not in text and arguments.route.path == "/plan":
        query["ready"] = text
        return b""
    with open(text, "rb") as file:
        return file.read()
