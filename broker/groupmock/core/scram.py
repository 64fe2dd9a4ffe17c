"""This module keeps users and their credentials.

SCRAM credentials (KIP-554) are checked and kept as a controller does it: DescribeUserScramCredentials shows their mechanisms and
iterations. A user that groupmock itself was given has a password, with which every mechanism works: Kafka has passwords for PLAIN only, in
the broker's JAAS configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from groupmock_codec import error_codes

from .java.hashes import java_hash
from .java.orders import java_order

MECHANISMS: Final = (1, 2)
"""The mechanisms are numbered: SCRAM-SHA-256 is 1 and SCRAM-SHA-512 is 2."""
LEAST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16_384
MOST_USERS: Final = 10_000
MOST_TEXT: Final = 1024 * 1024
"""The largest number of characters in the names of all users together."""
TWICE: Final = "A user credential cannot be altered twice in the same request"
NO_MECHANISM: Final = "Unknown SCRAM mechanism"
NO_NAME: Final = "Username must not be empty"
ABSENT: Final = "Attempt to delete a user credential that does not exist"
TOO_FEW: Final = "Too few iterations"
TOO_MANY: Final = "Too many iterations"
NO_ROOM: Final = f"This broker keeps credentials of at most {MOST_USERS} users whose names have at most {MOST_TEXT} characters."


class Refused(NamedTuple):
    """AlterUserScramCredentials refuses a user with this error. The texts are Kafka's (ScramControlManager)."""

    code: int
    text: str | None


class Deletion(NamedTuple):
    """A deletion removes a user's credential for one mechanism."""

    name: str
    mechanism: int


class Upsertion(NamedTuple):
    """An upsertion sets a credential of a user."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class Secret(NamedTuple):
    """A credential holds a salted password, or a password that was not salted yet. In a replay both are empty, because no
    journal has them."""

    iterations: int
    salt: bytes = b""
    salted_password: bytes = b""
    password: str | None = None


T = TypeVar("T", Deletion, Upsertion)


class Credentials:
    """The credentials of all users. `passwords` are those of users with whom PLAIN works."""

    def __init__(self) -> None:
        self.passwords: dict[str, str] = {}
        self._kept: dict[int, dict[str, Secret]] = {mechanism: {} for mechanism in MECHANISMS}
        self._text = 0

    def users(self) -> list[str]:
        """Return the names of all users in the order of the map in which Kafka collects them."""
        found = [name for kept in self._kept.values() for name in java_order(kept, java_hash)]
        return java_order(found, java_hash)

    def of(self, name: str) -> list[tuple[int, int]]:
        """Return the mechanisms of a user with their iterations. Kafka's order of the two differs from one start of a broker to another."""
        return [(mechanism, kept[name].iterations) for mechanism, kept in self._kept.items() if name in kept]

    def secret(self, mechanism: int, name: str) -> Secret | None:
        """Return what is kept of a user's credential for a mechanism of SCRAM, or None."""
        return self._kept[mechanism].get(name)

    def set_password(self, name: str, password: str) -> bool:
        """Give a user a password for every mechanism, in place of all former credentials. Return False if there is no room for the user."""
        if not self._has_room(name):
            return False
        self.remove(name)
        self.passwords[name] = password
        for kept in self._kept.values():
            kept[name] = Secret(LEAST_ITERATIONS, password=password)
            self._text += len(name)
        return True

    def remove(self, name: str) -> bool:
        """Remove a user with all credentials, and return whether there was one. Connections of that user go on."""
        found = self.passwords.pop(name, None) is not None
        for kept in self._kept.values():
            if kept.pop(name, None) is not None:
                self._text -= len(name)
                found = True
        return found

    def _has_room(self, name: str) -> bool:
        return all(name in kept or len(kept) < MOST_USERS for kept in self._kept.values()) and self._text + len(name) <= MOST_TEXT

    def alter(self, deletions: Iterable[Deletion], upsertions: Iterable[Upsertion]) -> list[tuple[str, Refused | None]]:
        """Change the credentials of each user or refuse the user. Returns the users with their errors as Kafka answers them: those with a
        deletion, those with an upsertion, and the refused ones, each in the order of a hash map."""
        refused: dict[str, Refused] = {}
        removed: dict[str, Deletion | None] = {}
        for deletion in deletions:
            if deletion.name not in refused:
                self._take(removed, deletion, self._deletion_error(deletion), refused)
        stored: dict[str, Upsertion | None] = {}
        for upsertion in upsertions:
            if upsertion.name in refused:
                continue
            if removed.get(upsertion.name) is not None:
                removed[upsertion.name] = None
                refused[upsertion.name] = Refused(error_codes.DUPLICATE_RESOURCE, TWICE)
            else:
                self._take(stored, upsertion, _upsertion_error(upsertion), refused)
        done = self._delete(removed) + self._store(stored, refused)
        return [(name, None) for name in done] + [(name, refused[name]) for name in java_order(refused, java_hash)]

    @staticmethod
    def _take(taken: dict[str, T | None], change: T, error: Refused | None, refused: dict[str, Refused]) -> None:
        """Accept a change of a user, or refuse it together with an earlier change of the same user."""
        if taken.get(change.name) is not None:
            taken[change.name] = None
            refused[change.name] = Refused(error_codes.DUPLICATE_RESOURCE, TWICE)
        elif error is not None:
            refused[change.name] = error
        else:
            taken[change.name] = change

    def _deletion_error(self, deletion: Deletion) -> Refused | None:
        error = _name_error(deletion.name, deletion.mechanism)
        if error is None and deletion.name not in self._kept[deletion.mechanism]:
            return Refused(error_codes.RESOURCE_NOT_FOUND, ABSENT)
        return error

    def _delete(self, removed: Mapping[str, Deletion | None]) -> list[str]:
        done = []
        for name in java_order(removed, java_hash):
            deletion = removed[name]
            if deletion is not None:
                del self._kept[deletion.mechanism][name]
                self._text -= len(name)
                done.append(name)
        return done

    def _store(self, stored: Mapping[str, Upsertion | None], refused: dict[str, Refused]) -> list[str]:
        done = []
        for name in java_order(stored, java_hash):
            upsertion = stored[name]
            if upsertion is None:
                continue
            kept = self._kept[upsertion.mechanism]
            if not upsertion.salted_password:
                refused[name] = Refused(error_codes.UNKNOWN_SERVER_ERROR, None)
            elif name not in kept and (len(kept) >= MOST_USERS or self._text + len(name) > MOST_TEXT):
                refused[name] = Refused(error_codes.UNACCEPTABLE_CREDENTIAL, NO_ROOM)
            else:
                self._text += 0 if name in kept else len(name)
                kept[name] = Secret(upsertion.iterations, upsertion.salt, upsertion.salted_password)
                done.append(name)
        return done


def _name_error(name: str, mechanism: int) -> Refused | None:
    if not name:
        return Refused(error_codes.UNACCEPTABLE_CREDENTIAL, NO_NAME)
    return None if mechanism in MECHANISMS else Refused(error_codes.UNSUPPORTED_SASL_MECHANISM, NO_MECHANISM)


def _upsertion_error(upsertion: Upsertion) -> Refused | None:
    error = _name_error(upsertion.name, upsertion.mechanism)
    if error is not None or LEAST_ITERATIONS <= upsertion.iterations <= MOST_ITERATIONS:
        return error
    return Refused(error_codes.UNACCEPTABLE_CREDENTIAL, TOO_FEW if upsertion.iterations < LEAST_ITERATIONS else TOO_MANY)
