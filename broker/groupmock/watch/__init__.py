"""What humans and scrapers see: log lines rendered from journal rows. Reads rows and nothing else."""

from __future__ import annotations
