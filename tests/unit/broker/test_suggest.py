"""An unknown word gets suggestions of similar words."""

from __future__ import annotations

from groupmock.text.suggest import did_you_mean, hint

APIS = ("JoinGroup", "SyncGroup", "Heartbeat")


def test_the_nearest_whatever_its_letters() -> None:
    assert did_you_mean("joingruop", APIS) == "did you mean JoinGroup?"
    assert hint("HEARTBEET", APIS) == " (did you mean Heartbeat?)"


def test_several_where_several_are_asked_for() -> None:
    assert did_you_mean("Group", APIS, most=2, likeness=0.5) == "did you mean SyncGroup or JoinGroup?"


def test_nothing_where_nothing_is_near() -> None:
    assert (did_you_mean("topic", APIS), hint("topic", APIS)) == ("", "")
