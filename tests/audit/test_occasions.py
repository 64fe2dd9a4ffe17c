"""Every rule finds drawn wrong occasions, also at a distance of 1 ms, in journals and in recordings, and blames nobody on right ones.

tools/search/occasions.py draws many more (docs/proof/judge.md)."""

from __future__ import annotations

from typing import Final

import pytest
from audit_occasions import Score, examples_of, score_right, score_wrong

from groupmock.audit.rule import registered

RULES: Final = registered()
POOL: Final = 2
FAST: Final = [(code, 2 * place) for code, rule in RULES.items() for place, _ in enumerate(examples_of(rule, "broken"))]
"""The seeds of a fast wrong occasion for each wrong example."""


@pytest.mark.parametrize(("code", "seed"), FAST)
def test_a_rule_finds_a_wrong_client_at_a_distance_of_1_ms(code: str, seed: int) -> None:
    scores = {each: Score() for each in RULES}
    assert score_wrong(scores, code, seed, POOL) == []
    assert (scores[code].dropped, scores[code].found) == (0, 1)


def test_no_rule_blames_a_decent_client_in_company() -> None:
    scores = {each: Score() for each in RULES}
    assert [said for seed in range(2 * POOL) for said in score_right(scores, seed, POOL)] == []
    assert [code for code, score in scores.items() if not (score.right and score.judged)] == []
