"""Write message files (codec/groupmock_codec/messages) from Kafka's schemas: complete new files, and existing files with the changes of a
release.

The result is a proposal: somebody has to read it, and to say in the docstring what a version means.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from groupmock_codec import declare
from groupmock_codec.declare import ANY_VERSION, ZERO_UUID, Versions

from .message_changes import CHANGED, NEW, FieldChange, MessageChange
from .schemas import Schema, SchemaField, common

PYTHON: Final = {"bool": "bool", "float64": "float", "string": "str", "bytes": "bytes", "records": "bytes", "uuid": "bytes"}
"""Maps a wire type to its Python type; all others are int."""
WIDTH: Final = 120
_IMPORT: Final = re.compile(r"from \.\.declare import (?:\([^)]*\)|[^\n]*)")
_SPAN: Final = re.compile(r"versions? \d+(-\d+)?")


class ByHand(Exception):
    """A change of a message that our declarations cannot express. The text says which."""


def constant(api: str) -> str:
    """Return the name of the constant with an API's number: DELETE_GROUPS for DeleteGroups."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api).upper()


def stem(key: int, api: str) -> str:
    """Return the name of a message file without its ending."""
    return f"k{key:02d}_{constant(api).lower()}"


# -- one field


def declaration(field: SchemaField, valid: Versions, before: SchemaField | None = None) -> str:
    """Return the line of Python that declares a field. `before` is our own field of that name, whose facts about versions that the
    release does not read any more stay."""
    since, until = _bounds(field.versions, before and before.versions, valid)
    marks = [_wire(field)]
    if field.nullable is not None:
        first = _bounds(field.nullable, before and before.nullable, valid)[0]
        highest = common(field.versions, valid)
        if highest is not None and field.nullable.highest < highest.highest:
            raise ByHand(f"{field.name} may be null in {field.nullable} alone")
        marks.append(f"nullable({first if first > 0 else ''})")
    marks += [f"since({since})"] if since > 0 else []
    marks += [f"until({until})"] if until < ANY_VERSION else []
    if field.tagged is not None:
        marks.append(f"tag({field.tag})" if field.tagged.lowest <= since else f"tag({field.tag}, {field.tagged.lowest})")
    marks += ["IGNORABLE"] if field.ignorable else []
    return f"{field.name}: Annotated[{_python(field)}, {', '.join(marks)}] = {_default(field)}"


def _bounds(theirs: Versions | None, ours: Versions | None, valid: Versions) -> tuple[int, int]:
    """Return the first and last version for which a field's property is declared. At an end at which the release reads nothing else,
    what we know of older versions stays."""
    assert theirs is not None
    if ours is None:
        return theirs.lowest, theirs.highest
    first = ours.lowest if theirs.lowest <= valid.lowest and ours.lowest <= valid.lowest else theirs.lowest
    return first, ours.highest if min(ours.highest, valid.highest) == min(theirs.highest, valid.highest) else theirs.highest


def _wire(field: SchemaField) -> str:
    element = field.own if field.fields else {"bool": "BOOLEAN"}.get(field.type, field.type.upper())
    if field.array:
        return f"array({element})"
    return f"struct({element})" if field.fields else element


def _python(field: SchemaField) -> str:
    element = field.own if field.fields else PYTHON.get(field.type, "int")
    whole = f"list[{element}]" if field.array else element
    return whole if field.nullable is None and field.default is not None else f"{whole} | None"


def _default(field: SchemaField) -> str:
    if field.default is ...:
        return f"{field.own}()"
    if field.default == ZERO_UUID:
        return "ZERO_UUID"
    return f'"{field.default}"' if isinstance(field.default, str) else repr(field.default)


# -- a whole file


def new_file(request: Schema, response: Schema) -> str:
    """Return the text of a new message file. Its imports are complete, its form is not yet that of the formatter."""
    flexible = "None" if request.flexible_from is None else str(request.flexible_from)
    number = constant(request.api)
    lines = [f'"""{_title(request)}', "", *_versions_text(request, response, request.versions.lowest), '"""', ""]
    lines += ["from __future__ import annotations", "", "from typing import Annotated", "", f"from ..api_keys import {number}"]
    lines += ["from ..declare import Message", "", ""]
    written: dict[str, str] = {}
    for schema in (request, response):
        _structs(schema.fields, schema.versions, written)
        written[schema.own] = _class(schema.own, schema.fields, schema.versions)
    span = f"Versions({request.versions.lowest}, {request.versions.highest})"
    lines.append("\n\n".join(written.values()))
    lines.append(f'\nAPI = ApiDeclaration({number}, "{request.api}", {span}, {flexible}, {request.own}, {response.own})\n')
    return with_imports("\n".join(lines))


def _title(request: Schema) -> str:
    word = "version" if request.versions.lowest == request.versions.highest else "versions"
    flexible = "not flexible" if request.flexible_from is None else f"flexible from {request.flexible_from}"
    return f"{request.api} (key {request.key}) has {word} {request.versions}, {flexible}."


def _versions_text(request: Schema, response: Schema, lowest: int) -> Iterator[str]:
    """Yield a sentence for each version from `lowest` on: its new fields, and the KIPs and issues that Kafka's schema cites for it."""
    told = []
    for version in range(lowest, request.versions.highest + 1):
        fields = [name for schema in (request, response) for name in _new_in(schema.fields, version)]
        cites = tuple(dict.fromkeys((*request.notes.get(version, ()), *response.notes.get(version, ()))))
        cited = f" ({', '.join(cites)})" if cites else ""
        told.append(f"v{version} {'new' if version == 0 else ', '.join(dict.fromkeys(fields)) or 'no field changes'}{cited}.")
    yield from textwrap.wrap(" ".join(told), WIDTH)


def _new_in(fields: tuple[SchemaField, ...], version: int) -> Iterator[str]:
    for field in fields:
        if field.versions is not None and field.versions.lowest == version:
            yield field.name
        elif field.versions is not None and version in field.versions:
            yield from _new_in(field.fields, version)


def _structs(fields: tuple[SchemaField, ...], valid: Versions, written: dict[str, str], known: frozenset[str] = frozenset()) -> None:
    """Add the text of the class of each struct in these fields to `written`, inner structs first. Raises ByHand if two structs have one
    name."""
    for field in fields:
        if field.fields and field.own not in known:
            _structs(field.fields, valid, written, known)
            text = _class(field.own, field.fields, valid, frozen=field.default is ...)
            older = written.setdefault(field.own, text)
            if older.partition("\n")[2] != text.partition("\n")[2]:
                raise ByHand(f"the request and the response have different structs of the name {field.own}")
            if field.default is ...:
                written[field.own] = text


def _class(name: str, fields: tuple[SchemaField, ...], valid: Versions, frozen: bool = False) -> str:
    head = f"class {name}(Message):"
    if frozen:
        head = f"class {name}(FrozenMessage, frozen=True):  # type: ignore[misc]  # see FrozenMessage"
    lines = [f"    {declaration(field, valid)}" for field in fields if common(field.versions, valid)]
    return "\n".join([head, *(lines or ["    pass"])]) + "\n"


# -- a file with changes


def changed_file(text: str, before: Mapping[str, Schema], after: Mapping[str, Schema], changes: tuple[MessageChange, ...]) -> str:
    """Return the text of an existing message file with the changes of its messages. Raises ByHand."""
    for change in changes:
        ours, theirs = before[change.name], after[change.name]
        for each in change.fields:
            text = _with_field(text, ours, theirs, each)
    api = after[changes[0].name].api
    request, response = after[f"{api}Request"], after[f"{api}Response"]
    span, highest = before[request.own].versions, request.versions.highest
    if highest > span.highest:
        text = text.replace(f"Versions({span.lowest}, {span.highest})", f"Versions({span.lowest}, {highest})")
        text = _SPAN.sub(f"versions {span.lowest}-{highest}", text, count=1)
        told = "\n".join(_versions_text(request, response, span.highest + 1))
        about, quotes, rest = text[3:].partition('"""')
        text = f'"""{about.rstrip()}\n{told}\n{quotes}{rest}'
    return with_imports(text)


def _with_field(text: str, ours: Schema, theirs: Schema, change: FieldChange) -> str:
    """Return the text of a message file with one changed field. Fields that are only gone, renamed or moved are left to the reader."""
    if change.what not in (NEW, CHANGED):
        return text
    *outer, name = change.path
    owner, siblings, our_siblings = ours.own, theirs.fields, ours.fields
    for step in outer:
        inner = {field.name: field for field in our_siblings}[step]
        owner, our_siblings = inner.own, inner.fields
        siblings = {field.name: field for field in siblings}[step].fields
    field = {each.name: each for each in siblings}[name]
    line = f"    {declaration(field, theirs.versions, {each.name: each for each in our_siblings}.get(name))}"
    if change.what == CHANGED:
        return _replaced(text, owner, name, line)
    classes: dict[str, str] = {}
    _structs((field,), theirs.versions, classes, frozenset(re.findall(r"^class (\w+)\(", text, re.MULTILINE)))
    before = [each.name for each in siblings[: siblings.index(field)]]
    text = _inserted(text, owner, before, line)
    return _above_class(text, owner, "\n\n".join(classes.values())) if classes else text


def _class_node(text: str, name: str) -> ast.ClassDef:
    return next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == name)


def _places(node: ast.ClassDef) -> dict[str, tuple[int, int]]:
    """Map each field of a class to the number of its first line and of the line behind it, counted from 0."""
    found = {}
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            found[each.target.id] = (each.lineno - 1, each.end_lineno or each.lineno)
    return found


def _replaced(text: str, owner: str, name: str, line: str) -> str:
    first, behind = _places(_class_node(text, owner))[name]
    lines = text.split("\n")
    return "\n".join([*lines[:first], line, *lines[behind:]])


def _inserted(text: str, owner: str, before: list[str], line: str) -> str:
    """Insert a field behind the nearest of the fields that precede it in Kafka's schema."""
    node = _class_node(text, owner)
    places = _places(node)
    nearest = next((places[name][1] for name in reversed(before) if name in places), None)
    at = nearest if nearest is not None else min((first for first, _ in places.values()), default=node.end_lineno or node.lineno)
    lines = text.split("\n")
    return "\n".join([*lines[:at], line, *lines[at:]])


def _above_class(text: str, owner: str, classes: str) -> str:
    at = _class_node(text, owner).lineno - 1
    lines = text.split("\n")
    return "\n".join([*lines[:at], *classes.split("\n"), "", *lines[at:]])


def with_imports(text: str) -> str:
    """Return the text of a message file whose import has exactly the names of declare.py that the file uses."""
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = sorted((name for name in used if hasattr(declare, name) and not hasattr(object, name)), key=_rank)
    names = [name for name in names if name not in ("Annotated", "Any", "Final", "str", "int", "bool")]
    return _IMPORT.sub(f"from ..declare import {', '.join(names)}", text, count=1)


def _rank(name: str) -> tuple[int, str, int]:
    """Return the sort key of an imported name, which orders names as the formatter does: constants, classes, functions; numbers by their
    size."""
    letters = name.rstrip("0123456789")
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, letters, int(name[len(letters) :] or 0))
