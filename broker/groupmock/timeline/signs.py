"""The signs of a picture: how each kind of thing looks, where in its row it is drawn, and the words of the legend.

The SVG form and the page's script draw the same signs, and both read them from here.
"""

from __future__ import annotations

from typing import Final

import msgspec

from groupmock_codec.group_states import ASSIGNING, COMPLETING_REBALANCE, DEAD, EMPTY, NOT_READY, PREPARING_REBALANCE, RECONCILING, STABLE

from ..rounds import JOINT, OWNED, PALE, SHARED, UNKNOWN, UNOWNED

LIGHT: Final = {
    "ink": "#16191d", "quiet": "#555b63", "ground": "#ffffff", "soft": "#f4f6f8", "line": "#d4d8dd", "life": "#eceff2",
    "bad": "#b3300a", "good": "#005a8d", "warn": "#8a5a00", "mark": "#0b5cad", "busy": "#f1e9f7",
}  # fmt: skip
"""The colours of a picture on a light ground, by their role."""
DARK: Final = {
    "ink": "#e8eaed", "quiet": "#a7adb5", "ground": "#15181c", "soft": "#1f242a", "line": "#363c44", "life": "#252b32",
    "bad": "#ff8f6b", "good": "#8fc7f0", "warn": "#f0c14b", "mark": "#7db9f5", "busy": "#33264a",
}  # fmt: skip
FORCED: Final = {
    "ink": "CanvasText", "quiet": "CanvasText", "ground": "Canvas", "soft": "Canvas", "life": "Canvas",
    "line": "color-mix(in srgb, CanvasText 30%, Canvas)",
    "bad": "CanvasText", "good": "CanvasText", "warn": "CanvasText", "mark": "Highlight", "busy": "Canvas",
}  # fmt: skip
"""The colours of a picture for a user who has the browser force a palette. Shapes and words show the same facts."""
HUES: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f2a", "#7a6fb0")
"""Processes have the colours of Okabe and Ito, which can be told apart with every kind of colour blindness. The ninth process has the
first colour again, with a pattern."""
TILE: Final = 6
PATTERNS: Final = {
    "behind": ("M0 1.5H3M3 4.5H6", "warn"), "double": ("M0 6L6 0M0 0L6 6", "bad"), "own1": ("M0 6L6 0", "ink"), "own2": ("M3 0V6", "ink"),
    "own3": ("M0 0L6 6", "ink"), "own4": ("M0 3H6", "ink"), "own5": ("M0 6L6 0M0 0L6 6", "ink"),
}  # fmt: skip
"""Maps the name of a pattern to the path on its tile of 6 x 6 pixels and to the role of its colour. `own1` is that of the processes 9 to
16, and so on."""
TINT: Final = 0.3


class Part(msgspec.Struct, array_like=True):
    """A part is a shape of which a sign is drawn.

    `shape` is where in the sign's box it is drawn: "full", "left" and "bottom" are rectangles, "line" is a line along the middle, "edge"
    an outline. "glyph" is a path around the first point of time, made for a box of 12 pixels, and "letter" a character there; both are in
    `drawn`. `fill` and `stroke` are roles of colours or names of patterns; "own" is the colour of the item's process.
    """

    shape: str
    fill: str = ""
    alpha: float = 1.0
    drawn: str = ""
    stroke: str = ""


class Sign(msgspec.Struct, omit_defaults=True):
    """The look of one kind of item.

    `box` and `low` have the top and the height of the item in a row of normal and of low height. A negative top counts from the bottom of
    the row, and a height below 1 ends so far above it. Signs of a higher `layer` are drawn over others. `label` is where the item's label
    is drawn: "inside" of a span, or "beside" a point, `beside` pixels from it. `tail` has the colour of the line that shows how long a
    point lasted. `words` are those of the legend, which a sign without words is not in. `legend` has the
    names of the signs whose words explain this one: its own, if it has words.
    """

    name: str
    parts: tuple[Part, ...]
    box: tuple[int, int]
    low: tuple[int, int] = (0, 0)
    layer: int = 0
    label: str = ""
    beside: int = 11
    tail: str = ""
    point: bool = False
    words: str = ""
    legend: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.words and not self.legend:
            self.legend = (self.name,)


FULL, LIFE, BANDS, OVER, ROUTINE, SPECIAL, PINS = range(7)
"""Signs of a later layer are drawn over those of an earlier one."""
TRIANGLE, SQUARE, STROKE = "M0-5L5 5L-5 5Z", "M-4-4H4V4H-4Z", "M-.8-5H.8V5H-.8Z"
CIRCLE, DOWN = "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z", "M0 5L5-5L-5-5Z"
TICKED: Final = "M-5 0L-1 4L6-4L4.5-5.5L-1 1L-3.5-1.5Z"
CROSS: Final = "M-4-4L4 4M-4 4L4-4"
OUTWARDS: Final = "M-5 0H4M1-4L5 0L1 4"
STRUCK: Final = "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0M-3-3L3 3M-3 3L3-3"
TO_AND_FRO: Final = "M-5-2H4L1-5M5 2H-4L-1 5"
DOT: Final = "M-1.5-1.5H1.5V1.5H-1.5Z"
BACK, CRATE, HOOK = "M5 0H-4M-1-4L-5 0L-1 4", "M-5-5H5V5H-5ZM-5-5L5 5M-5 5L5-5", "M-4 0L-1 3L4-3"
ROUND: Final = "M4 1.5A4.3 4.3 0 1 1 3.3-2.8M4-6V-2H0"
OPEN_BOX: Final = "M-4-4H4V4H-4ZM-2.5-2.5V2.5H2.5V-2.5Z"
DIAMOND, BOX, FLAG = "M0-8L8 0L0 8L-8 0Z", "M-6-6H6V6H-6Z", "M-6 9V-6H7V5H-6"
SMALL: Final = "M0-2L3.5 4L-3.5 4Z"
GLYPHS: Final = {
    "JoinGroup": TRIANGLE, "SyncGroup": SQUARE, "Heartbeat": STROKE, "OffsetCommit": CIRCLE, "LeaveGroup": DOWN, "TxnOffsetCommit": CIRCLE,
    "ConsumerGroupHeartbeat": STROKE, "ShareGroupHeartbeat": STROKE, "ShareFetch": OPEN_BOX, "ShareAcknowledge": CIRCLE,
    "StreamsGroupHeartbeat": STROKE,
}  # fmt: skip
EXPLAINED: Final = {
    "TxnOffsetCommit": "OffsetCommit", "ConsumerGroupHeartbeat": "Heartbeat", "ShareGroupHeartbeat": "Heartbeat",
    "StreamsGroupHeartbeat": "Heartbeat", "ShareAcknowledge": "OffsetCommit",
}  # fmt: skip
"""Maps an API to the one whose sign it has."""
LEGEND: Final = {
    "Heartbeat": "Heartbeat, ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat",
    "OffsetCommit": "OffsetCommit, TxnOffsetCommit, ShareAcknowledge",
}  # fmt: skip
STATES: Final = {
    STABLE: "#009e73", PREPARING_REBALANCE: "#e69f00", COMPLETING_REBALANCE: "#56b4e9", EMPTY: "#8d8d8d", ASSIGNING: "#cc79a7",
    RECONCILING: "#8a8f2a", NOT_READY: "#a6761d", DEAD: "#444444",
}  # fmt: skip
STATE_WORDS: Final = {
    PREPARING_REBALANCE: "members join", COMPLETING_REBALANCE: "the leader's SyncGroup is awaited",
    RECONCILING: "members give partitions up and get others", NOT_READY: "topics of the topology are missing or wrong",
}  # fmt: skip
ROW, CELL = (3, -3), (1, -1)
PALE_TINT: Final = 0.35
TICK: Final = "M-.5-6H.5V6H-.5Z"
IN_EVENTS: Final = (5, 13)
RECORDS: Final = (3, 12)


def bar(name: str, colour: str, box: tuple[int, int], words: str = "", low: tuple[int, int] | None = None, layer: int = BANDS) -> Sign:
    """Return the sign of something that lasts: a tinted rectangle with a strong left and lower edge and a label inside."""
    parts = (Part("full", "ground"), Part("full", colour, TINT), Part("left", colour), Part("bottom", colour))
    return Sign(name, parts, box, low or box, layer, "inside", words=words)


def _mark(api: str, result: str) -> Sign:
    colour = {"no": "bad", "open": "warn"}.get(result, "good")
    glyph = Part("glyph", colour, 1, GLYPHS[api]) if result == "ok" else Part("glyph", "ground", 1, GLYPHS[api], colour)
    # In forced colours all roles have one colour, so the inside tells the results apart.
    inside = {"no": (Part("glyph", "", 1, CROSS, "ink"),), "open": (Part("glyph", colour, 1, DOT),)}.get(result, ())
    explained = EXPLAINED.get(api, api)
    words = {
        ("JoinGroup", "led"): "told to join (again)",
        ("JoinGroup", "open"): "no answer so far",
        ("JoinGroup", "no"): "refused, lost or abandoned",
    }.get((api, result), "" if result != "ok" or api in EXPLAINED else LEGEND.get(api, api))
    layer = ROUTINE if result == "ok" and api not in ("JoinGroup", "SyncGroup", "LeaveGroup") else SPECIAL
    legend = (f"{explained} ok", *((f"JoinGroup {result}",) if result != "ok" else ()))
    return Sign(f"{api} {result}", (glyph, *inside), (3, 12), (1, 9), layer, tail=colour, point=True, words=words, legend=legend)


def _pin(name: str, colour: str, path: str, letter: str, words: str, at_rest: bool = False) -> list[Sign]:
    """Return the signs of an event in the lane of a member and in the row of a group."""
    parts = (Part("glyph", "ground", 1, path, colour), Part("letter", colour, 1, letter))
    in_lane = Sign(name, parts, (17, 13), (11, 11), PINS, "beside", tail="quiet", point=True, words=words)
    return [in_lane, msgspec.structs.replace(in_lane, name=f"{name} row", box=IN_EVENTS, low=IN_EVENTS, words="", legend=(name,))]


SIGNS: Final[dict[str, Sign]] = {
    sign.name: sign
    for sign in [
        Sign("life", (Part("full", "life"), Part("left", "ink")), (2, -2), (2, -2), LIFE, words="a member's stay in the group"),
        bar("band", "own", (-18, 15), "what a member owns, in the colour of its process", (-11, 10)),
        *(
            bar(f"state {state}", colour, ROW, ": ".join((state, STATE_WORDS[state])) if state in STATE_WORDS else state)
            for state, colour in STATES.items()
        ),
        bar("state", "quiet", ROW),
        Sign("rebalance", (Part("full", "busy"), Part("edge", "", 1, "", "quiet")), ROW, ROW, BANDS, words="a rebalance"),
        Sign("generation", (Part("glyph", "ink", 1, TICK),), ROW, ROW, SPECIAL, "beside", 4, point=True, words="a generation"),
        Sign(OWNED, (Part("full", "own"),), CELL, CELL, BANDS, "inside", words="a partition, in the colour of the process that owns it"),
        Sign(
            PALE, (Part("full", "own", PALE_TINT),), CELL, CELL, BANDS, "inside",
            words="its owner's connection is gone, the session still runs",
        ),
        Sign(UNOWNED, (Part("line", "bad"),), CELL, CELL, BANDS, words="nobody owns it"),
        Sign(
            SHARED, (Part("full", "double"), Part("edge", "", 1, "", "bad")), CELL, CELL, BANDS, "inside", words="several members own it"
        ),
        Sign(
            JOINT, (Part("full", "good", PALE_TINT), Part("left", "good")), CELL, CELL, BANDS, "inside",
            words="several members of a share group read it",
        ),
        Sign(UNKNOWN, (Part("full", "life"),), CELL, CELL, BANDS, words="its owner is not known, because the rows begin later"),
        Sign("several", (Part("full", "quiet", PALE_TINT),), ROW, ROW, BANDS, "inside"),
        Sign(f"{UNOWNED} together", (Part("full", "ground"), Part("edge", "", 1, "", "bad")), ROW, ROW, BANDS, "inside"),
        Sign(f"{PALE} together", (Part("full", "own", PALE_TINT),), ROW, ROW, BANDS, "inside"),
        Sign(
            "moved", (Part("glyph", "", 1, TO_AND_FRO, "ink"),), (3, 12), (3, 12), SPECIAL, "beside", 8, point=True,
            words="a rebalance moved partitions or tasks",
        ),
        Sign("moved nothing", (Part("glyph", "quiet", 1, DOT),), (3, 12), (3, 12), SPECIAL, point=True, words="a rebalance moved nothing"),
        bar("transaction", "#7a6fb0", ROW, "an open transaction"),
        bar("commit", "#117a65", ROW, "it commits, until its markers are written"),
        bar("abort", "#d55e00", ROW, "it aborts, until its markers are written"),
        Sign("committed", (Part("glyph", "good", 1, TICKED),), IN_EVENTS, IN_EVENTS, PINS, point=True, words="committed"),
        Sign("aborted", (Part("glyph", "", 1, CROSS, "bad"),), IN_EVENTS, IN_EVENTS, PINS, point=True, words="aborted"),
        Sign(
            "held back", (Part("full", "ground"), Part("full", "behind"), Part("edge", "", 1, "", "warn")), ROW, ROW, BANDS, "inside",
            words="records behind the last stable offset",
        ),
        Sign(
            "records", (Part("full", "ground"), Part("full", "own", TINT), Part("left", "own")), (-18, 15), (-18, 15), BANDS, "inside",
            words="records that a member has acquired",
        ),
        Sign(
            "records again", (Part("glyph", "", 1, ROUND, "warn"),), RECORDS, RECORDS, PINS, "beside", 9, point=True,
            words="records are delivered again",
        ),
        Sign(
            "records lost", (Part("glyph", "", 1, BACK, "warn"),), RECORDS, RECORDS, PINS, "beside", 9, point=True,
            words="released, or the lock ended: available again",
        ),
        Sign(
            "records archived", (Part("glyph", "", 1, CRATE, "bad"),), RECORDS, RECORDS, PINS, "beside", 9, point=True,
            words="archived without being accepted",
        ),
        Sign("records accepted", (Part("glyph", "", 1, HOOK, "good"),), RECORDS, RECORDS, SPECIAL, point=True, words="accepted"),
        Sign(
            "standby", (Part("full", "ground"), Part("full", "own", TINT), Part("edge", "", 1, "", "own")), ROW, ROW, BANDS, "inside",
            words="tasks for which a member stands by",
        ),
        *(_mark(api, result) for api in GLYPHS for result in ("ok", "led", "open", "no")),
        Sign("left", (Part("glyph", "", 1, OUTWARDS, "ink"),), (3, 12), (1, 9), SPECIAL, point=True, words="left by itself"),
        Sign(
            "removed", (Part("glyph", "", 1, STRUCK, "bad"),), (17, 13), (11, 11), PINS, "beside", point=True,
            words="removed, with the cause",
        ),
        *_pin("fault", "bad", DIAMOND, "!", "a fault rule was applied"),
        *_pin("command", "ink", BOX, "C", "a command"),
        *_pin("finding", "warn", FLAG, "W", "a finding: a warning"),
        *_pin("finding error", "bad", FLAG, "F", "a finding: an error"),
        *_pin("closed", "ink", BOX, "\u2298", "the connection was closed"),
        *_pin("refused", "bad", BOX, "\u00d7", "not let in"),
        *_pin("note", "ink", BOX, "N", "a note of the server"),
        *_pin("says", "ink", BOX, "i", "a client or a test says"),
        Sign("aside", (Part("glyph", "quiet", 1, SMALL),), (-9, 10), (-6, 7), PINS, point=True, words="a client says, with details"),
        Sign("aside row", (Part("glyph", "quiet", 1, SMALL),), (15, 9), (15, 9), PINS, point=True, legend=("aside",)),
    ]
}  # fmt: skip
"""All signs of a picture, found by name."""
