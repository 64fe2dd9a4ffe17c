"""The PySpark jobs over the journals of many runs, one file per job (`groupmock pipeline JOB IN OUT`)."""

from __future__ import annotations
