"""Judge exchanges: play one, distinguish missing features from broken ones, and sum up the results."""

from __future__ import annotations
