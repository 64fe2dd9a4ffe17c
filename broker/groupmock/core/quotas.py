"""Quotas of clients by user, client id and address can be set and listed, but are never enforced (KIP-546, KIP-612, KIP-599).

An entity is its types and names, and a null name means the default. Both the number of entities and the length of texts are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Final, NamedTuple

from .java.hash_maps import STRINGS, filled_order
from .java.hashes import MASK, java_hash, spread_bits
from .java.orders import java_order, order_key, table_for

USER: Final = "user"
CLIENT: Final = "client-id"
IP: Final = "ip"
MOST_ENTITIES: Final = 10_000
MOST_TEXT: Final = 1024 * 1024
"""The largest number of characters in the names of all entities that have quotas."""
TOO_MANY: Final = f"This broker keeps quotas of at most {MOST_ENTITIES} entities whose names have at most {MOST_TEXT} characters."

Entity = tuple[tuple[str, str | None], ...]
"""The user, client id or address that a quota is for, as types with names, sorted by type, so that equal entities are equal tuples."""

ADDRESS: Final = re.compile(r"[0-9A-Za-z.:_-]+")


class Kind(NamedTuple):
    """The type of a quota's values. `name` is Java's; `most` is None for a number with a fraction."""

    name: str
    most: int | None


LONG: Final = Kind("LONG", 2**63 - 1)
INT: Final = Kind("INT", 2**31 - 1)
DOUBLE: Final = Kind("DOUBLE", None)
OF_CLIENTS: Final = {
    "producer_byte_rate": LONG,
    "consumer_byte_rate": LONG,
    "request_percentage": DOUBLE,
    "controller_mutation_rate": DOUBLE,
}
OF_ADDRESSES: Final = {"connection_creation_rate": INT}


class QuotaRefused(ValueError):
    """The entity or the value of a quota is impossible; the text is Kafka's."""


class Quotas:
    """The quotas of all users, client ids and addresses, in the order in which these first got a quota."""

    def __init__(self) -> None:
        self._kept: dict[Entity, dict[str, float]] = {}
        self._text = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def text(self) -> int:
        return self._text

    def items(self) -> Iterable[tuple[Entity, Mapping[str, float]]]:
        return self._kept.items()

    def has_room(self, entity: Entity) -> bool:
        """True if the entity has quotas already, or there is room for another entity."""
        return entity in self._kept or (len(self._kept) < MOST_ENTITIES and self._text + _characters(entity) <= MOST_TEXT)

    def change(self, entity: Entity, changes: Mapping[str, float | None]) -> None:
        """Set quotas of an entity, and remove those whose value is None. An entity without quotas is forgotten. Answers list the quotas in
        the order of Kafka's map, which is made anew for each change: with room for the former quotas, those that stay first
        (ClientQuotaDelta.apply)."""
        before = self._kept.get(entity, {})
        after = before | dict(changes)
        put = [key for key in (*before, *java_order(changes, java_hash)) if after[key] is not None]
        kept = {key: value for key in filled_order(STRINGS, put, len(before)) if (value := after[key]) is not None}
        if entity in self._kept:
            self._text -= _characters(entity)
        if kept:
            self._kept[entity] = kept
            self._text += _characters(entity)
        else:
            self._kept.pop(entity, None)


def _characters(entity: Entity) -> int:
    return sum(len(name or "") for _, name in entity)


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the entity with its types in the order of Java's map, in which answers show them. If a type is listed twice, the last one
    counts."""
    named = dict(parts)
    # The size of the hash table matters for the order: Kafka creates the map with room for the types in the request.
    mask = table_for(len(named), 1 << max(len(named) - 1, 0).bit_length()) - 1
    return tuple([(kind, named[kind]) for kind in sorted(named, key=lambda kind: order_key(spread_bits(java_hash(kind)), mask))])


def hash_of(entity: Entity) -> int:
    """Return the `hashCode()` of Kafka's ClientQuotaEntity: Objects.hash of the map of its entries."""
    entries = sum(java_hash(kind) ^ (0 if name is None else java_hash(name)) for kind, name in entity)
    return 31 + entries & MASK


def printed(entity: Entity) -> str:
    """Return the entity as Java's toString() prints it."""
    entries = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{entries}}})"


def keys_of(entity: Entity, ip_with_others: str) -> Mapping[str, Kind]:
    """Return the quotas that an entity of these types may have. Raises QuotaRefused. `ip_with_others` holds the release's words for an
    address beside a user."""
    if not entity:
        raise QuotaRefused("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in (USER, CLIENT, IP):
            raise QuotaRefused(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise QuotaRefused(f"Empty {kind} not supported")
    if entity[0][0] != IP and all(kind != IP for kind, _ in entity):
        return OF_CLIENTS
    if len(entity) > 1:
        raise QuotaRefused(ip_with_others)
    address = entity[0][1]
    # Kafka resolves the address, but groupmock accepts every text that could be an address or a host name.
    if address is not None and not ADDRESS.fullmatch(address):
        raise QuotaRefused(f"{address} is not a valid IP or resolvable host.")
    return OF_ADDRESSES


def check_value(key: str, value: float, kind: Kind) -> None:
    """Check the value of a quota, with the error messages of the KRaft controller (ClientQuotaControlManager). Raises QuotaRefused."""
    if value <= 0:
        raise QuotaRefused(f"Quota {key} must be greater than 0")
    if kind.most is None:
        return
    if value > kind.most:
        raise QuotaRefused(f"Proposed value for {key} is too large for {'an' if kind is INT else 'a'} {kind.name}.")
    if isfinite(value) and value != int(value):
        raise QuotaRefused(f"{key} cannot be a fractional value.")
