"""Jobs one after the other in one process, whatever version is on the path: `python jobs_of.py JOURNALS LAKE JOB ... -- WORD ...`.

WORDs go to every job; `ingest` has its own, behind a colon: `ingest:--line-limit=1`. Stands alone: an older version runs it too.
"""

from __future__ import annotations

import sys

from groupmock_pipeline.command import main

journals, lake, *asked = sys.argv[1:]
names, words = asked[: asked.index("--")], asked[asked.index("--") + 1 :]
for each in names:
    job, *own = each.split(":")
    code = main([job, journals if job == "ingest" else lake, lake, *own, *words], f"groupmock pipeline {job}")
    print(job, "exits", code, flush=True)
    if code:
        sys.exit(code)
