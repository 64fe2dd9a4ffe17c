"""Tests how `benchmarks.workers.churn` computes its figures per minute."""

from __future__ import annotations

from benchmarks.workers.churn import verdict


def minutes(*blocks: int, rss: int = 100) -> list[dict[str, int]]:
    return [{"minute": number, "blocks": each, "rss_kb": rss} for number, each in enumerate(blocks, 1)]


def test_the_last_minute_is_compared_with_the_fifth() -> None:
    assert verdict(minutes(10, 20, 30, 40, 100, 200, 103)) == 0
    assert verdict(minutes(10, 20, 30, 40, 100, 200, 104)) == 1


def test_a_short_run_is_compared_with_its_second_minute() -> None:
    assert verdict(minutes(10, 100, 103)) == 0
    assert verdict(minutes(10, 100, 104)) == 1


def test_resident_memory_counts_as_well() -> None:
    assert verdict([*minutes(1, 1, 1, 1, 1), *minutes(1, rss=104)]) == 1


def test_a_long_run_may_not_reach_further_than_four_megabytes_in_its_last_ten_minutes() -> None:
    steady = minutes(*[100] * 19, rss=200_000)
    for last, status in ((204_000, 0), (204_200, 1)):
        assert verdict([*steady, {"minute": 20, "blocks": 100, "rss_kb": last}]) == status
