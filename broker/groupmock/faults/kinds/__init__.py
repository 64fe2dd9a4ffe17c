"""The kinds of faults, one file with a `KIND` for each. The listing of the folder is the registry (`faults.kind.all_kinds`)."""

from __future__ import annotations
