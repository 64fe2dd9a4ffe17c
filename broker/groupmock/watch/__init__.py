"""What humans see while it runs: log lines rendered from journal rows. Reads rows and nothing else."""

from __future__ import annotations
