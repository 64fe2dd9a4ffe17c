"""From answers to verdicts: one exchange is played and judged, what may be lacking is told from what is broken, results are summed up."""

from __future__ import annotations
