"""The findings of tools/releases are grouped by kind, so that a reader sees each difference once."""

from __future__ import annotations

import msgspec

from groupmock_codec.api_keys import JOIN_GROUP, METADATA
from tools.fidelity.compare.canonical import Difference
from tools.releases.broker_changes import refusals
from tools.releases.broker_facts import BrokerFacts, Definition
from tools.releases.exchange_kinds import grouped
from tools.releases.report import Findings, markdown
from tools.releases.stock_clients import INTEROP, problems_in


def difference(path: str, real: object, ours: object, key: int = JOIN_GROUP, seed: int = 1) -> Difference:
    return Difference(3, path, real, ours, key, 5, seed)


def test_differences_are_of_one_kind_wherever_they_stand_in_a_list() -> None:
    found = grouped(
        [
            difference("topics[0].name", "a", "b", METADATA),
            difference("error_code", 23, 81),
            difference("topics[7].name", "c", "d", METADATA, seed=2),
            difference("error_code", 0, 81),
        ]
    )
    assert [(key, path, codes, len(each)) for (key, path, codes), each in found.items()] == [
        (METADATA, "topics[].name", "", 2),
        (JOIN_GROUP, "error_code", "23 / 81", 1),
        (JOIN_GROUP, "error_code", "0 / 81", 1),
    ]


def facts(words: str) -> BrokerFacts:
    """Return the facts of a broker that refuses the value 1 of two configs of groups in these words."""
    names = ("a.timeout.ms", "b.timeout.ms")
    group = {name: Definition("INT", "5", "read-only", "[1,...]") for name in names}
    said = {("group", name, "1"): (40, words.format(name)) for name in names}
    return BrokerFacts("4.4.0", {}, (), (), {"group": group}, {"group": names}, said)


def test_refusals_in_other_words_are_told_once_with_all_configs() -> None:
    one, other = facts("{} must be at least group.min"), facts("{} must be in the range 45 to 60.")
    (found,) = refusals(one, other)
    assert (found.names, found.before, found.after) == (
        ("a.timeout.ms", "b.timeout.ms"),
        "40 a.timeout.ms must be at least group.min",
        "40 a.timeout.ms must be in the range 45 to 60.",
    )
    assert list(refusals(one, one)) == []


def test_compiler_errors_name_the_file_of_this_tree_and_its_line() -> None:
    inside = "src/main/java/groupmock/interop/Member.java"
    printed = f"[ERROR] /scratch/x/{inside}:[1,37] cannot find symbol\n[ERROR]   symbol: class Gone\n"
    (found,) = problems_in(printed, "/scratch/x", INTEROP / "members" / "java")
    assert msgspec.structs.astuple(found) == (f"members/java/{inside}", 1, "cannot find symbol", "package groupmock.interop;")


def test_report_says_of_an_empty_part_that_nothing_was_found() -> None:
    found = Findings(
        version="4.4.0", beside="4.3.0", profile="kafka-4.3", began="2026-11-28", seconds={}, against_codec=(), against_beside=()
    )  # fmt: skip
    assert "## Messages that differ from the codec's\n\nNothing.\n" in markdown(found)
