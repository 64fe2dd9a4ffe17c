"""One file per kind of fault; each has a `KIND`. The listing is the registry (`faults.kind.all_kinds`)."""

from __future__ import annotations
