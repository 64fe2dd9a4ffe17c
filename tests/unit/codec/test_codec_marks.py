"""Version marks of different kinds with the same number must differ, because typing caches `Annotated` types by equality."""

from __future__ import annotations

from itertools import combinations

from groupmock_codec.declare import fields_of, nullable, since, tag, until
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse


def test_marks_of_different_kinds_are_never_equal() -> None:
    for one, other in combinations((since(4), until(4), nullable(4), tag(4)), 2):
        assert one != other


def test_fields_that_end_where_others_begin_keep_their_own_versions() -> None:
    """FindCoordinator moved its fields into an array in version 4."""
    response = {field.name: (field.since, field.until) for field in fields_of(FindCoordinatorResponse)}
    assert response["host"][1] == 3
    assert response["coordinators"][0] == 4
    request = {field.name: (field.since, field.until) for field in fields_of(FindCoordinatorRequest)}
    assert request["key"][1] == 3
    assert request["coordinator_keys"][0] == 4
