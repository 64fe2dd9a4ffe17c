"""The kinds of faults each have a file with a `KIND`. The listing of the folder is the registry (`faults.kind.all_kinds`)."""

from __future__ import annotations
