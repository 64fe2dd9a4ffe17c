"""A timeline is a picture of a journal: who was a member when, who owned which partitions, and which requests were sent, refused and broke
rules.

    drawing = Drawing()
    drawing.add("run.jsonl", journal, journal.header)
    html = written("html", drawing.timeline())

`model` is the picture as data, `builder` makes it of rows, `forms` draw it.
"""

from __future__ import annotations
