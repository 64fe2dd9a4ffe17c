"""The ownership map is drawn with a shape and a colour for each state and process, and says its figures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from cases import for_each
from journal_pen import Pen
from rebalance_corners import BOTH, JOINED, SWAPPED

from groupmock.rounds import OWNED, PALE, SHARED, UNOWNED, OwnershipMap, Span, ownership_maps
from groupmock.timeline.forms.ownership import Panel, colours_of, pictured, thumbnail
from groupmock_codec.units import NS_PER_S

SVG = "{http://www.w3.org/2000/svg}"


def made(*spans: tuple[str, tuple[str, ...]]) -> OwnershipMap:
    """Return a map with one partition per span, which lasts two seconds."""
    found = {("t", place): [Span(("t", place), state, processes, 0, 2 * NS_PER_S)] for place, (state, processes) in enumerate(spans)}
    return OwnershipMap("g", 0, 2 * NS_PER_S, found, [])


def looks(svg: str) -> list[str]:
    """Return how the rows of a thumbnail look, without their places."""
    rows = re.findall(r"<rect (?:x|y)[^>]*?((?: fill| fill-opacity| stroke)=\"[^/]*?)/>", svg)
    return [re.sub(r' (?:x|y|width|height)="[^"]*"', "", each) for each in rows]


@for_each("processes", [2, 8, 20])
def test_no_two_processes_look_alike(processes: int) -> None:
    names = [f"m{number}" for number in range(processes)]
    svg = thumbnail(made(*((OWNED, (name,)) for name in names)), 0, NS_PER_S)
    rows: dict[str, str] = {}
    for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect"):
        if rect.get("y"):
            rows[rect.get("y", "")] = rows.get(rect.get("y", ""), "") + rect.get("fill", "")
    assert len(set(rows.values())) == processes
    if processes == 8:
        assert all(each.startswith("#") and len(each) == 7 for each in rows.values()), "eight colours need no pattern"


def test_states_of_a_partition_look_different() -> None:
    svg = thumbnail(made((OWNED, ("a",)), (PALE, ("a",)), (UNOWNED, ()), (SHARED, ("a", "b"))), 0, NS_PER_S)
    assert len(set(looks(svg))) == 4


def test_processes_are_coloured_in_the_order_of_their_names() -> None:
    assert colours_of(["m10", "m2", "m1", "m2"]) == {"m1": 0, "m2": 1, "m10": 2}


def test_a_panel_says_what_moved_and_how_long_nobody_owned() -> None:
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(NS_PER_S).row("close", connection=2, by="client", reason="the client closed")
    pen.at(3 * NS_PER_S).round("tea", 2, SWAPPED, "leader m1 rejoined", step=0)
    found = ownership_maps(pen.rows)["tea"]
    assert Panel("tea", found).told == (1, 4, 4.0)
    words = " ".join("".join(each.itertext()) for each in ElementTree.fromstring(pictured([Panel("Tea & <b>", found)])).iter(f"{SVG}text"))
    assert "Tea & <b> 1 rebalance moved 4 partitions; without an owner: 4.0 partition-seconds" in words
    assert "4 moved" in words and "orders/3" in words
