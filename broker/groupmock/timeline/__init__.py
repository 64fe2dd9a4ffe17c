"""A timeline is a picture of a journal: when each member was in its group, which partitions it owned, and which requests were sent, were
refused or broke rules.

    drawing = Drawing()
    drawing.add("run.jsonl", journal, journal.header)
    html = written("html", drawing.timeline())

`model` is the picture as data, `builder` makes it from rows, `scene` lays it out with the signs of `signs`, and `forms` draw it.
"""

from __future__ import annotations
