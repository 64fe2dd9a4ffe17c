"""The checks of an exactly-once program: consume, transform, produce, output and offsets in one transaction (KIP-447)."""

from __future__ import annotations

import collections
import itertools
import secrets
from pathlib import Path
from typing import Any

from .cell import Row
from .desk import Desk
from .member import Member
from .telling import same, wait

PARTITIONS = 2
TAKEN = 6  # records of one transaction
SESSION_MS = 20000  # a member's consumer polls on order only
LONG_MS = 60000
SHORT_MS = 2000


class TransactionsRow(Row):
    """Members of one group on one broker, one after the other; what they wrote is read by who reads committed."""

    def __init__(self, name: str, command: list[str], desk: Desk, folder: Path) -> None:
        super().__init__(name, desk, folder)
        self._command = command
        self.group = f"matrix-transactions-{secrets.token_hex(4)}"
        self.topic = f"{self.group}-orders"
        self._count = itertools.count(1)
        self._members: list[Member] = []
        self._wanted: collections.Counter[str] = collections.Counter()
        self._first: Member

    def run(self, short: bool) -> None:
        """Every check; `short` leaves out the timeout."""
        try:
            self.desk.create_topic(self.topic, PARTITIONS)
            self.desk.create_topic(f"{self.topic}-done", PARTITIONS)
            self.check("consumes", self._consumes)
            self.check("commits", self._commits, after="consumes")
            self.check("aborts", self._aborts, after="commits")
            self.check("fenced", self._fenced, after="aborts")
            if not short:
                self.check("timeout", self._timeout, after="fenced")
        finally:
            for each in self._members:
                self.client = self.client or each.client_said
                each.kill()

    def _member(self, transactional: str, timeout_ms: int = LONG_MS) -> Member:
        name = f"member-{next(self._count)}"
        wish: dict[str, object] = {"bootstrap": self.desk.bootstrap, "group": self.group, "topic": self.topic, "name": name,
                                   "transactional": f"{self.group}-{transactional}", "timeout_ms": timeout_ms, "session_ms": SESSION_MS}
        fresh = Member(self._command, wish, self.folder / f"{name}.log")
        self._members.append(fresh)
        wait(f"{name} to be ready", lambda: bool(fresh.events("ready")), fresh.trouble)
        return fresh

    def _produce(self) -> None:
        values: dict[int, list[str]] = {}
        for partition in range(PARTITIONS):
            values[partition] = [f"order-{secrets.token_hex(4)} {partition}" for _ in range(TAKEN // PARTITIONS)]
            self._wanted.update(values[partition])
        self.desk.produce(self.topic, values)

    def _same_once(self, level: str = "read_committed") -> int:
        """Who reads committed sees each record once. Returns how often records stand in the log, by that level."""
        found = collections.Counter(value for _, value in self.desk.read(f"{self.topic}-done"))
        same("records of the output", self._wanted, found)
        return len(self.desk.read(f"{self.topic}-done", level))

    @staticmethod
    def _ended(member: Member, how: str) -> Any:
        """Commit or abort; the class of the error, or None."""
        member.order(how, "ended")
        return member.last("ended", "error", "")

    @staticmethod
    def _looked(member: Member) -> tuple[str, int]:
        """State and epoch of its transactional id, as the coordinator tells them."""
        member.order("look", "looked")
        return member.last("looked", "state", ""), member.last("looked", "epoch", -2)

    def _transaction(self, member: Member, how: str = "commit") -> list[Any]:
        member.order(f"begin {TAKEN}", "begun")
        return [self._ended(member, how), *self._looked(member)]

    def _consumes(self) -> dict[str, Any]:
        """A new client (KIP-890) has another epoch in each transaction, an old one the same in all."""
        self._first = self._member("one")
        seen: list[object] = [list(self._looked(self._first))]
        for _ in range(3):
            self._produce()
            seen.append(self._transaction(self._first))
        self._same_once()
        return {"transactions": seen}

    def _commits(self) -> dict[str, Any]:
        ends = self.desk.ends(self.topic)
        wait("commits up to the end", lambda: self.desk.committed(self.group, self.topic) == ends,
             lambda: [ends, self.desk.committed(self.group, self.topic)])
        return {"committed": "log end"}

    def _aborts(self) -> dict[str, Any]:
        before = self.desk.committed(self.group, self.topic)
        self._produce()
        aborted = self._transaction(self._first, "abort")
        same("offsets after the abort", before, self.desk.committed(self.group, self.topic))
        again = self._transaction(self._first)
        self._commits()
        return {"aborted": aborted, "again": again, "in the log": self._same_once("read_uncommitted")}

    def _fenced(self) -> dict[str, Any]:
        """Another process with the same transactional id comes while a transaction is open."""
        self._produce()
        self._first.order(f"begin {TAKEN}", "begun")
        newer = self._member("one")
        zombie = self._ended(self._first, "commit")
        self._first.leave()
        again = self._transaction(newer)
        newer.leave()
        self._commits()
        return {"zombie": zombie, "newer": again, "in the log": self._same_once("read_uncommitted")}

    def _timeout(self) -> dict[str, Any]:
        """A transaction is open for longer than its producer said: it commits in vain, and goes on where it may."""
        self._produce()
        slow = self._member("two", SHORT_MS)
        slow.order(f"begin {TAKEN}", "begun")
        wait("the coordinator to abort", lambda: self._looked(slow)[0] == "CompleteAbort", slow.trouble)
        seen = self._looked(slow)
        committed, aborted = self._ended(slow, "commit"), self._ended(slow, "abort")
        if aborted is not None:
            slow.leave()
            slow = self._member("two")
        again = self._transaction(slow)
        self._commits()
        return {"aborted": list(seen), "commit": committed, "abort": aborted, "again": again,
                "in the log": self._same_once("read_uncommitted")}
