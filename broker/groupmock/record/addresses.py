"""A recording replaces the addresses of brokers in answers by its own addresses.

There is no list of APIs here: the codec's declarations show which answers have a field `host` beside a field `port`, and from which version
on. The only other answer that is changed is ApiVersions, because a client must not choose a version that could not be decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.declare import fields_of

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

Translate = Callable[[int, str, int], tuple[str, int]]
"""Maps (node id, host, port) of the cluster to the host and port that a client is told instead."""
NODE_IDS: Final = ("node_id", "broker_id")
NONE: Final = ("", -1)
"""The host and port of an answer that has no address, for example beside an error."""


@cache
def tells_addresses(key: int, version: int) -> bool:
    """Return whether answers of this API version may contain broker addresses."""
    return any(True for _ in _places(APIS[key].response.message, version))


@cache
def watched() -> frozenset[int]:
    """Return the keys of the APIs whose answers are changed on their way in some version."""
    return frozenset(key for key in APIS if key == API_VERSIONS or any(tells_addresses(key, version) for version in _versions(key)))


def _versions(key: int) -> range:
    return range(APIS[key].versions.lowest, APIS[key].versions.highest + 1)


def rewrite(key: int, version: int, message: Message, translate: Translate) -> bool:
    """Replace the addresses in an answer in place and return whether anything changed."""
    if key == API_VERSIONS:
        return _cut(message)
    # `sum` is used and not `any`, because every path must be rewritten.
    return sum(_at(message, path, translate) for path in _places(type(message), version)) > 0


def _places(message: type[Message], version: int) -> Iterator[tuple[str, ...]]:
    """Yield the paths to the structs with an address, each as the names of the lists on the way; () is the message itself."""
    names = {field.name for field in fields_of(message) if field.present(version)}
    if {"host", "port"} <= names:
        yield ()
    for field in fields_of(message):
        if field.present(version) and field.wire.kind == "array" and field.wire.element_wire.kind == "struct":
            yield from ((field.name, *rest) for rest in _places(field.wire.element_wire.struct, version))


def _at(message: Any, path: tuple[str, ...], translate: Translate) -> bool:
    if not path:
        return _told(message, translate)
    entries = getattr(message, path[0])
    if not entries:
        return False
    if len(path) == 1 and entries[0].__struct_config__.frozen:
        setattr(message, path[0], [_changed(entry, translate) for entry in entries])
        return True
    return sum(_at(entry, path[1:], translate) for entry in entries) > 0


def _told(entry: Any, translate: Translate) -> bool:
    if (entry.host, entry.port) == NONE:
        return False
    entry.host, entry.port = translate(_node_id(entry), entry.host, entry.port)
    return True


def _changed(entry: Any, translate: Translate) -> Any:
    if (entry.host, entry.port) == NONE:
        return entry
    host, port = translate(_node_id(entry), entry.host, entry.port)
    return msgspec.structs.replace(entry, host=host, port=port)


def _node_id(entry: Any) -> int:
    return next(int(getattr(entry, name)) for name in NODE_IDS if hasattr(entry, name))


def _cut(message: Any) -> bool:
    """Lower the API versions in an ApiVersions answer to those that the codec has. An API stays as it is if it is unknown or has no
    version in common."""
    changed = False
    for row in message.api_keys:
        ours = APIS[row.api_key].versions if row.api_key in APIS else None
        if ours is not None and row.min_version <= ours.highest < row.max_version:
            row.max_version = ours.highest
            changed = True
    return changed
