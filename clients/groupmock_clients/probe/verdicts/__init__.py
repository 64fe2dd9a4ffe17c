"""Judge exchanges: play one, distinguish lacking features from broken ones, sum up the results."""

from __future__ import annotations
