"""The part of the report about share groups."""

from __future__ import annotations

from typing import Final

from .shapes import Listing, Section, Totals, Value, same

CAUSES: Final = "array_join(transform(map_entries({}), each -> concat(each.key, ' ', each.value)), ', ')"

SHARES: Final = Section(
    "shares",
    "Share groups",
    "How often records of share groups were delivered, why again, and how many were archived without being accepted.",
    (
        Totals(
            "By group and topic",
            same("group", "topic"),
            (
                Value("runs", "count(distinct run)"),
                Value("members", "sum(members)"),
                *(Value(name, f"sum({name})") for name in ("deliveries", "redeliveries", "accepted", "archived")),
                Value("locks ended", "sum(lock_ends)"),
                Value("most deliveries", "max(most_deliveries)"),
            ),
            bars="redeliveries",
        ),
        Listing(
            "The most redeliveries",
            (
                *same("run", "group", "topic", "redeliveries"),
                Value("because", CAUSES.format("redelivered_because")),
                Value("archived", "archived"),
                Value("archived because", CAUSES.format("archived_because")),
            ),
            ("redeliveries",),
            where="redeliveries > 0 or archived > 0",
        ),
    ),
    none="No share groups: no member of one got records in these runs.",
)
