"""Compare the messages of a release with those of earlier releases, or with the codec's: versions, fields, and every property of a
field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from groupmock_codec.declare import ANY_VERSION, Versions

from .schemas import Schema, SchemaField, common

NEW: Final = "new"
GONE: Final = "gone"
CHANGED: Final = "changed"
MOVED: Final = "moved"
RENAMED: Final = "renamed"


class FieldChange(msgspec.Struct, frozen=True):
    """A field of a message that differs between two releases. `path` goes from the message down to it; `says` describes the difference
    in words."""

    path: tuple[str, ...]
    what: str
    says: str


class MessageChange(msgspec.Struct, frozen=True):
    """A request or response that differs between two releases. `before` is None if only the release has it."""

    key: int
    name: str
    before: str | None
    after: str
    flexible: str
    fields: tuple[FieldChange, ...]
    cites: tuple[str, ...]

    def __str__(self) -> str:
        span = f"{self.before} -> {self.after}" if self.before != self.after else self.after
        return f"{self.name} ({self.key}): {span if self.before is not None else f'new, {self.after}'}"


def changes(before: Mapping[str, Schema], after: Mapping[str, Schema]) -> list[MessageChange]:
    """Return the messages of `after` that differ from those of `before` or are new, by API key, the request first."""
    found = (change(before.get(name), schema) for name, schema in after.items())
    return sorted((each for each in found if each is not None), key=lambda each: (each.key, each.name))


def change(before: Schema | None, after: Schema) -> MessageChange | None:
    """Return the differences in one message within the versions that the release reads, or None if there are none."""
    if before is None:
        fields = tuple(_all_new((), after.fields, after.versions))
        return MessageChange(after.key, after.own, None, str(after.versions), _flexible(after), fields, _cites(after, -1))
    fields = tuple(_differing((), before.fields, after.fields, after.versions))
    # The message classes of the earlier release may have versions below those that the later release reads, which is not reported.
    reads = after.versions.lowest in before.versions and after.versions.highest in before.versions
    flexible = "" if _flexible(before) == _flexible(after) else f"{_flexible(before)} -> {_flexible(after)}"
    if reads and not fields and not flexible:
        return None
    return MessageChange(
        after.key, after.own, str(before.versions), str(after.versions), flexible, fields, _cites(after, before.versions.highest)
    )


def _flexible(schema: Schema) -> str:
    return "not flexible" if schema.flexible_from is None else f"flexible from {schema.flexible_from}"


def _cites(schema: Schema, above: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cite for version, cites in sorted(schema.notes.items()) if version > above for cite in cites))


def _all_new(path: tuple[str, ...], fields: tuple[SchemaField, ...], valid: Versions) -> Iterator[FieldChange]:
    for field in fields:
        if (versions := common(field.versions, valid)) is not None:
            inner = f" of {_outline(field)}" if field.fields else ""
            yield FieldChange((*path, field.name), NEW, described(field, versions, valid) + inner)


def _outline(field: SchemaField) -> str:
    """Return the names of the fields in a struct, with the fields of nested structs in brackets."""
    return ", ".join(f"{each.name} [{_outline(each)}]" if each.fields else each.name for each in field.fields)


def _differing(
    path: tuple[str, ...], before: tuple[SchemaField, ...], after: tuple[SchemaField, ...], valid: Versions
) -> Iterator[FieldChange]:
    ours = {field.name: field for field in before if common(field.versions, valid)}
    theirs = {field.name: field for field in after if common(field.versions, valid)}
    renamed = dict(_renamed(ours, theirs, valid))
    for name, field in theirs.items():
        here = (*path, name)
        if name in renamed:
            yield FieldChange(here, RENAMED, f"was {renamed[name]}")
            continue
        if name not in ours:
            yield from _all_new(path, (field,), valid)
            continue
        told = list(_facts_that_differ(ours[name], field, valid))
        if told:
            yield FieldChange(here, CHANGED, "; ".join(told))
        versions = common(field.versions, valid)
        assert versions is not None
        yield from _differing(here, ours[name].fields, field.fields, versions)
    for name in ours:
        if name not in theirs and name not in renamed.values():
            yield FieldChange((*path, name), GONE, f"the release has it in none of {valid}")
    both = [name for name in theirs if name in ours]
    if both != [name for name in ours if name in theirs]:
        yield FieldChange(path, MOVED, f"the order is now {', '.join(both)}")


def _renamed(ours: Mapping[str, SchemaField], theirs: Mapping[str, SchemaField], valid: Versions) -> Iterator[tuple[str, str]]:
    """Yield (new name, old name) of fields in the same place with the same properties, because a name is not on the wire."""
    gone = [(at, name) for at, name in enumerate(ours) if name not in theirs]
    for at, old in gone:
        new = list(theirs)[at] if at < len(theirs) else old
        if new not in ours and not any(_facts_that_differ(ours[old], theirs[new], valid)):
            yield new, old


def _facts_that_differ(ours: SchemaField, theirs: SchemaField, valid: Versions) -> Iterator[str]:
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("type", _type(ours), _type(theirs)),
        ("versions", _shown(common(ours.versions, valid)), _shown(common(theirs.versions, valid))),
        ("nullable", _shown(common(ours.nullable, valid)), _shown(common(theirs.nullable, valid))),
        ("tagged", _tagged(ours, valid), _tagged(theirs, valid)),
        ("ignorable", ours.ignorable, theirs.ignorable),
        ("default", ours.default, theirs.default),
    )
    return (f"{what}: {one!s} -> {other!s}" for what, one, other in pairs if one != other)


def _type(field: SchemaField) -> str:
    return f"array of {field.type}" if field.array else field.type


def _shown(versions: Versions | None) -> str:
    return "none" if versions is None else str(versions)


def _tagged(field: SchemaField, valid: Versions) -> str:
    versions = common(field.tagged, valid)
    return "none" if versions is None else f"tag {field.tag} in {versions}"


def described(field: SchemaField, versions: Versions, valid: Versions) -> str:
    """Describe a field of a message in words: type, versions, whether it may be null, its tag, its default."""
    parts = [_type(field), f"v{versions}" if versions.lowest == versions.highest else f"v{versions.lowest}+"]
    if versions.highest < valid.highest < ANY_VERSION:
        parts[-1] = f"v{versions}"
    if (nullable := common(field.nullable, versions)) is not None:
        parts.append("nullable" if nullable == versions else f"nullable in {nullable}")
    if (tagged := common(field.tagged, versions)) is not None:
        parts.append(f"tag {field.tag}" if tagged == versions else f"tag {field.tag} in {tagged}")
    if field.default not in (0, "", b"", bytes(16), ..., []):
        parts.append("default null" if field.default is None else f"default {field.default}")
    if field.ignorable:
        parts.append("ignorable")
    return ", ".join(parts)
