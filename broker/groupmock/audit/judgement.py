"""A rule judges that the client did what the rule asks, that it did not, or that the journal does not tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple


class Kept(NamedTuple):
    """A judgement that the client did what the rule asks."""


class Broken(NamedTuple):
    """A judgement that the client did not do what the rule asks. `sentence` tells a developer which client did what, `rows` has the
    numbers of the rows that show it, and `instead` describes the right behaviour."""

    sentence: str
    rows: tuple[int, ...]
    instead: str


class NotJudged(NamedTuple):
    """A judgement that the client was in the situation of the rule, but a wrong client would not have been seen as wrong. `reason` is a
    constant sentence without names and numbers, because occasions are counted by reason. The reasons stand below."""

    reason: str


KEPT: Final = Kept()

CONTRADICTED: Final = NotJudged("an answer contradicted earlier rows of the journal")
UNREAD: Final = NotJudged("the client may have sent the request before it had read the answer")
UNSEEN_JOIN: Final = NotJudged("the journal does not show the JoinGroup answer that the client had")
UNSEEN_PRODUCER: Final = NotJudged("the journal does not show the InitProducerId of the producer")
UNREADABLE: Final = NotJudged("a Subscription or an Assignment is unreadable or too large")
TROUBLED: Final = NotJudged("the client had received an error, or an answer to it was lost")
TWO_CONNECTIONS: Final = NotJudged("the member is on two connections, which may belong to two processes")
NO_HOST: Final = NotJudged("the journal does not show on which host the client of an older connection is")
ANOTHER_PROCESS: Final = NotJudged("the request may be that of another process or member")
SILENT: Final = NotJudged("the client sent nothing else meanwhile, so it may have been stopped")
SLOW_BROKER: Final = NotJudged("the broker itself was slow")
NO_TIMES: Final = NotJudged("the journal does not show when answers were written")
IN_SESSION: Final = NotJudged("a Fetch in a session does not name all partitions that it reads")
UNNAMED: Final = NotJudged("the journal does not show the name that belongs to a topic id")
OWN_REASON: Final = NotJudged("the client may have had a reason that the journal does not show")
MANY_RECORDS: Final = NotJudged("the client held more runs of records of a partition than are remembered")
Judgement = Kept | Broken | NotJudged
Judgements = Iterator[Judgement]
