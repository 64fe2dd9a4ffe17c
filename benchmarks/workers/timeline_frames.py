"""Zooms a page of `groupmock timeline` in Chromium: `python -m benchmarks.workers.timeline_frames PAGE SECONDS`.

It prints one line of JSON. `frames` is the number of frames per second while the wheel turns by one notch a frame, in and out again, at
another place each time. `slow` is the longest frame of a hundred in ms, and `first` the ms from opening the page to its first frame.
Without a display Chromium draws 60 frames a second at most, on processors alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from benchmarks.browser import chromium

NOTCHES: Final = 24
"""The number of notches that the wheel is turned inwards, and as many outwards: from the whole run to a few seconds of it."""
DRAWN: Final = "() => document.documentElement.dataset.drawn > 0"
ZOOM: Final = """([seconds, notches]) => new Promise((done) => {
    const canvas = document.getElementById("canvas");
    const box = canvas.getBoundingClientRect();
    const begin = performance.now();
    const took = [];
    let [turn, last] = [0, begin];
    const frame = (now) => {
        if (turn > 0) took.push(now - last);
        last = now;
        if (now - begin > seconds * 1000) { done(took); return; }
        const [round, notch] = [Math.floor(turn / (2 * notches)), turn % (2 * notches)];
        const at = box.left + box.width * (0.2 + 0.15 * (round % 5));
        const how = { deltaY: notch < notches ? -100 : 100, ctrlKey: true, bubbles: true, cancelable: true };
        canvas.dispatchEvent(new WheelEvent("wheel", { clientX: at, clientY: box.top + 60, ...how }));
        turn += 1;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
})"""


def main(page: str, seconds: float) -> None:
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": 1400, "height": 900})
        opened.goto(Path(page).resolve().as_uri())
        opened.wait_for_function(DRAWN)
        first = opened.evaluate("performance.now()")
        took = sorted(opened.evaluate(ZOOM, [seconds, NOTCHES]))
        print(json.dumps({"frames": 1000 * len(took) / sum(took), "slow": took[int(0.99 * len(took))], "first": first}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
