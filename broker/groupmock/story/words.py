"""Format members, partitions, offsets and times for the lines of a story. Texts of peers are made printable and are shortened to fit a
line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from groupmock_codec.units import NS_PER_S

from ..rounds import Partition, short_name
from ..rounds.tasks import is_task, place_name
from ..text.printable import printable

LONGEST: Final = 60
"""A name that a peer made up is cut to this many characters."""
SENTENCE: Final = 240
"""A sentence is cut to this many characters."""
MOST: Final = 8
"""At most this many items are named one by one; the others are counted."""
NAMED: Final = 3
"""At most this many processes are named in a headline."""
DIFFERENT: Final = 4
"""At most this many offsets are listed one by one."""
# The look-behind makes a match begin only at the start of a word, because otherwise a long topic name would be searched from each of its
# characters.
MEMBER_ID: Final = re.compile(r"(?<![^\s,:'\"])[^\s,:'\"]*-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def seconds(ns: int) -> str:
    """Return a time of the run in seconds since its start."""
    return f"{ns / NS_PER_S:.3f}"


def text(value: Any, most: int = LONGEST) -> str:
    """Return a peer's text, made printable and short enough for a line."""
    shown = value if isinstance(value, str) else str(value)
    return printable(shown if len(shown) <= most else f"{shown[:most]}...")


def member_text(member_id: str, called: str | None = None) -> str:
    """Return a member's name like `anna#d7e8`."""
    return text(short_name(member_id, called), LONGEST + 8) or "a member without a name"


def shortened(sentence: str) -> str:
    """Return a reason of the journal with shortened member ids."""
    return text(MEMBER_ID.sub(lambda found: short_name(found[0]), sentence[: 4 * SENTENCE]), SENTENCE)


def ids_shortened(line: str) -> str:
    """Return a printable line with shortened member ids."""
    return MEMBER_ID.sub(lambda found: short_name(found[0]), line)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 member, 2 members."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def rebalances_text(first_joins: int, rebalances: int) -> str:
    """Return how often a group rebalanced. A first join is a member's join of the empty group, which disturbs nobody and is no
    rebalance of `rebalances`."""
    later = count(rebalances, "rebalance") if rebalances else "no rebalance"
    joins = "the first join" if first_joins == 1 else f"{first_joins} first joins"
    return f"{joins} and {later}" if first_joins else later


def listed(things: Sequence[str], noun: str = "more") -> str:
    """Return the things as "a, b and 5 more"."""
    shown = ", ".join(things[:MOST])
    return shown if len(things) <= MOST else f"{shown} and {len(things) - MOST} {noun}"


def named(names: Iterable[str]) -> str:
    """Return the names of processes as "anna, ben and cleo", or their number if they are many."""
    shown = [text(each) for each in names]
    if len(shown) > NAMED:
        return f"{len(shown)} processes"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def partitions_text(partitions: Iterable[Partition]) -> str:
    """Return partitions in the form "orders/0-3,7 bills/0", tasks of a streams group in the form "0_1, 1_2", or "" for none."""
    found, spans = sorted(partitions), []
    if found and is_task(found[0]):
        return listed([text(place_name(*each)) for each in found])
    for topic, each in groupby(found, key=lambda partition: partition[0]):
        ranges = list(_ranges([number for _, number in each]))
        shown = ",".join(ranges[:MOST]) + (f",... ({len(ranges) - MOST} more spans)" if len(ranges) > MOST else "")
        spans.append(f"{text(topic)}/{shown}")
    return " ".join(spans[:MOST]) + (f" and {len(spans) - MOST} more topics" if len(spans) > MOST else "")


def offsets_text(offsets: Mapping[Partition, int]) -> str:
    """Return offsets in the form "orders/2 = 17, orders/0-1 = 5", or for many different ones the highest: "orders/0-11 up to 1200"."""
    by_offset: dict[int, list[Partition]] = {}
    for partition, offset in offsets.items():
        by_offset.setdefault(offset, []).append(partition)
    if len(by_offset) > DIFFERENT:
        return f"{partitions_text(offsets)} up to {max(by_offset)}"
    return ", ".join(f"{partitions_text(each)} = {offset}" for offset, each in sorted(by_offset.items(), key=lambda pair: min(pair[1])))


def facts(fields: Mapping[str, Any]) -> str:
    """Return fields in the form name=value for a command or a fault, with shortened member ids and without bytes and tracebacks. The
    configs that a command sets are fields of their own."""
    configs = fields.get("set")
    if isinstance(configs, dict):
        fields = {name: value for name, value in fields.items() if name != "set" and value != []} | configs
    told = [(name, value) for name, value in fields.items() if name != "traceback" and not isinstance(value, bytes | dict)]
    return " ".join(f"{text(name)}={shortened(_plain(value))}" for name, value in told[:MOST] if value is not None)


def _plain(value: Any) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    return str(len(value)) if any(isinstance(each, dict) for each in value) else ",".join(map(str, value[:MOST]))


def _ranges(numbers: list[int]) -> Iterable[str]:
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is None or number != last + 1:
            yield str(first) if first == last else f"{first}-{last}"
            first = number if number is not None else first
        last = number if number is not None else last
