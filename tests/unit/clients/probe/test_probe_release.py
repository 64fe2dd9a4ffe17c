"""The probe recognizes which Kafka release a broker resembles, and how certain that is."""

from __future__ import annotations

from cases import for_each

from groupmock_clients.probe.language.exchange import RELEASES
from groupmock_clients.probe.stages.release import guess, offered_by
from groupmock_codec.declare import Versions


@for_each("release", ["4.4", "4.3", "3.9"])
def test_a_release_is_known_by_its_ranges(release: str) -> None:
    found = guess(offered_by(release))
    assert (found.release, found.sure) == (release, f"certain: all 12 ranges of the group APIs are {release}'s")


LIKE_4_0 = {8: Versions(2, 9), 9: Versions(1, 9)}
LIKE_3_0 = {9: Versions(0, 8), 10: Versions(0, 4)}


@for_each(("changes", "release"), [(LIKE_4_0, "4.3"), (LIKE_3_0, "3.9")])
def test_releases_between_are_like_their_neighbour(changes: dict[int, Versions], release: str) -> None:
    found = guess({**offered_by(release), **changes})
    assert (found.release, found.sure) == (release, f"likely: 10 of 12 ranges of the group APIs are {release}'s")


def test_what_is_like_none_is_a_guess() -> None:
    found = guess({18: Versions(0, 2), 11: Versions(0, 5), 12: Versions(0, 3), 14: Versions(0, 3)})
    assert (found.release, found.sure.split(":")[0]) == ("4.3", "a guess")


def test_a_broker_with_a_newer_version_is_newer_and_judged_by_the_newest_release() -> None:
    newest = offered_by(RELEASES[0])
    later = {11: Versions(newest[11].lowest, newest[11].highest + 1), 22: Versions(0, newest[22].highest + 2)}
    found = guess(newest | later)
    assert found.release == RELEASES[0]
    assert found.newer == (f"JoinGroup v{newest[11].highest + 1}", f"InitProducerId v{newest[22].highest + 2}")
    assert found.sure.startswith(f"the broker is newer, and this groupmock knows no newer release: {RELEASES[0]} has no JoinGroup v")


def test_an_unknown_api_or_an_older_range_makes_no_broker_newer() -> None:
    newest = offered_by(RELEASES[0])
    assert guess(newest | {4711: Versions(0, 3), 11: Versions(0, newest[11].highest - 1)}).newer == ()
