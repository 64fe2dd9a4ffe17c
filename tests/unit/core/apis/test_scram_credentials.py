"""SCRAM credentials as the controllers of Kafka 4.4.0, 4.3.0 and 3.9.1 checked, kept and showed them (SEC-30, SEC-37 to SEC-39)."""

from __future__ import annotations

from typing import Final

import pytest
from log_world import LogWorld

from groupmock.core import scram
from groupmock_codec.messages.k50_describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from groupmock_codec.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

Told = list[tuple[str, int, str | None]]
TWICE: Final = "A user credential cannot be altered twice in the same request"
ABSENT: Final = "Attempt to delete a user credential that does not exist"
FEW, MANY, UNKNOWN = "Too few iterations", "Too many iterations", "Unknown SCRAM mechanism"


def upsert(
    name: str, mechanism: int = 1, iterations: int = 4096, salt: bytes = b"salt", password: bytes = b"p" * 32
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=password)


class Users:
    """A cluster whose users get credentials."""

    def __init__(self) -> None:
        self.world = LogWorld()

    def alter(self, *upserted: ScramCredentialUpsertion, deleted: tuple[tuple[str, int], ...] = ()) -> Told:
        deletions = [ScramCredentialDeletion(name=name, mechanism=mechanism) for name, mechanism in deleted]
        answer = self.world.ask(51, 0, AlterUserScramCredentialsRequest(deletions=deletions, upsertions=list(upserted)))
        return [(each.user, each.error_code, each.error_message) for each in answer.results]

    def shown(self, *names: str) -> list[tuple[str, int, list[tuple[int, int]]]]:
        answer = self.world.ask(50, 0, DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names]))
        infos = [[(info.mechanism, info.iterations) for info in each.credential_infos] for each in answer.results]
        return [(each.user, each.error_code, info) for each, info in zip(answer.results, infos, strict=True)]


def test_credentials_are_shown_without_their_secrets() -> None:
    users = Users()
    assert users.shown() == []
    assert users.alter(upsert("bob"), upsert("al", 2, 5000)) == [("bob", 0, None), ("al", 0, None)]
    assert users.shown() == [("bob", 0, [(1, 4096)]), ("al", 0, [(2, 5000)])]
    assert users.shown("bob", "al", "zz", "bob") == [("zz", 91, []), ("bob", 92, []), ("al", 0, [(2, 5000)])]
    assert users.alter(upsert("bob", 2, 6000)) == [("bob", 0, None)]
    assert users.shown("bob") == [("bob", 0, [(1, 4096), (2, 6000)])]
    assert users.alter(deleted=(("bob", 1),)) == [("bob", 0, None)]
    assert users.shown("bob") == [("bob", 0, [(2, 6000)])]


def test_a_user_that_is_altered_twice_keeps_what_it_had() -> None:
    users = Users()
    users.alter(upsert("bob"), upsert("al", 2))
    before = users.shown()
    for told in (
        users.alter(upsert("bob"), upsert("bob", 2, 5000)),
        users.alter(upsert("bob"), upsert("bob", 1, 5000)),
        users.alter(upsert("bob", 1, 5000), deleted=(("bob", 1),)),
        users.alter(upsert("bob", 2, 5000), deleted=(("bob", 1),)),
        users.alter(deleted=(("bob", 1), ("bob", 1))),
    ):
        assert told == [("bob", 92, TWICE)]
    assert users.shown() == before


def test_each_user_is_refused_alone_and_the_others_come_first() -> None:
    users = Users()
    assert users.alter() == []
    iterations = users.alter(
        upsert("i0", 1, 0), upsert("i4095", 1, 4095), upsert("i16384", 1, 16_384), upsert("i16385", 1, 16_385), upsert("neg", 1, -5),
        upsert("i2", 2, 4095), upsert("i3", 2, 16_385),
    )  # fmt: skip
    assert iterations == [
        ("i16384", 0, None), ("i4095", 93, FEW), ("neg", 93, FEW), ("i0", 93, FEW), ("i2", 93, FEW), ("i16385", 93, MANY), ("i3", 93, MANY),
    ]  # fmt: skip
    assert users.alter(upsert("m0", 0), upsert("m3", 3), upsert("m-1", -1), upsert("m2", 2)) == [
        ("m2", 0, None), ("m-1", 33, UNKNOWN), ("m0", 33, UNKNOWN), ("m3", 33, UNKNOWN),
    ]  # fmt: skip
    assert users.alter(upsert("", 0)) == users.alter(deleted=(("", 9),)) == [("", 93, "Username must not be empty")]
    assert users.alter(deleted=(("d0", 0), ("d9", 9))) == [("d9", 33, UNKNOWN), ("d0", 33, UNKNOWN)]
    assert users.alter(upsert("good"), deleted=(("nobody", 1),)) == [("good", 0, None), ("nobody", 91, ABSENT)]
    assert users.alter(upsert("w", 1, 1), upsert("w", 2), deleted=(("w", 0),)) == [("w", 33, UNKNOWN)]
    assert users.alter(upsert("v", 0), upsert("v", 0)) == [("v", 33, UNKNOWN)]


def test_any_salt_and_any_password_but_an_empty_one_will_do() -> None:
    users = Users()
    told = users.alter(upsert("p0", password=b""), upsert("p1", password=b"x"), upsert("p33", password=b"x" * 33), upsert("s0", salt=b""))
    assert sorted(told) == [("p0", -1, None), ("p1", 0, None), ("p33", 0, None), ("s0", 0, None)]
    assert [name for name, *_ in told][-1] == "p0" and users.shown("p0") == [("p0", 91, [])]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Users()
    monkeypatch.setattr(scram, "MOST_TEXT", 10)
    assert users.alter(upsert("a" * 10)) == [("a" * 10, 0, None)]
    assert users.alter(upsert("a" * 10, 1, 5000)) == [("a" * 10, 0, None)]
    assert users.alter(upsert("b")) == [("b", 93, scram.NO_ROOM)]
    users.alter(deleted=(("a" * 10, 1),))
    assert users.alter(upsert("b")) == [("b", 0, None)]
