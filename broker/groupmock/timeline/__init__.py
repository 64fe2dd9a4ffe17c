"""Pictures of journals: who was a member when, who owned which partitions, what was asked, refused and broken.

    drawing = Drawing()
    drawing.add("run.jsonl", journal, journal.header)
    html = written("html", drawing.timeline())

`model` is the picture as data, `builder` makes it of rows, `forms` draw it.
"""

from __future__ import annotations
