"""The audit decides here whether a client had read an answer when it sent a later request.

The theory. A broker knows when it wrote an answer and when it read a request (`written` and `received` in rows). A request that was read
before the answer was written was sent without it. A request that was read later may still have been under way, in the network or in a
client whose threads do not wait for each other. One of three things shows that it was not:

- Enough time lies between (GRACE_NS), in which the broker was not held up itself (`stalls`).
- The client sends requests of this API one at a time (ONE_BY_ONE), as its protocol makes it do: a heartbeat waits for the answer to the
  heartbeat before. If the previous request of this API was answered on the same connection by the answer in question or later, then the
  client has read both, because a connection keeps the order of its answers.
- The client sends everything one at a time: no request on the connection was read before the previous answer was written, and the client
  has no other connection, on which another thread could wait. Then a request that comes after the answer, and not sooner than the client
  ever reacted to an answer (`Order.reaction`), was sent after the answer was read. A request that comes sooner was under way, for instance
  in a slow network.

The time `written` is that of the event which wrote the answer. A broker reads nothing meanwhile, so what it read later has a later time.
Nothing is known without `written`, which journals of older versions do not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from groupmock_codec import api_keys, error_codes
from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

GRACE_NS: Final = 250 * NS_PER_MS
"""A client whose threads wait for each other, on a machine that is busy, needs tens of milliseconds from an answer to the next request that
minds the answer. After this time it is certain that the client has read the answer."""
ONE_BY_ONE: Final = frozenset(
    (
        api_keys.FIND_COORDINATOR,
        api_keys.JOIN_GROUP,
        api_keys.SYNC_GROUP,
        api_keys.HEARTBEAT,
        api_keys.LEAVE_GROUP,
        api_keys.CONSUMER_GROUP_HEARTBEAT,
        api_keys.SHARE_GROUP_HEARTBEAT,
        api_keys.STREAMS_GROUP_HEARTBEAT,
        api_keys.SHARE_FETCH,
        api_keys.SHARE_ACKNOWLEDGE,
        api_keys.INIT_PRODUCER_ID,
        api_keys.ADD_PARTITIONS_TO_TXN,
        api_keys.ADD_OFFSETS_TO_TXN,
        api_keys.TXN_OFFSET_COMMIT,
        api_keys.END_TXN,
    )
)
"""The APIs whose next request waits for the previous answer in every client. Commits, Fetches and Produces do not wait."""
OF_MEMBERS: Final = frozenset((api_keys.HEARTBEAT, api_keys.OFFSET_COMMIT))
ANEW: Final = frozenset((error_codes.ILLEGAL_GENERATION, error_codes.UNKNOWN_MEMBER_ID))
NEVER: Final = (-1, -1)
Learnt = tuple[str, int | None]
"""A member id, and a generation or member epoch (None: only the id is new); or a producer id as text, and its epoch."""


class Request(Protocol):
    """A request with its answer, as `subjects.Exchange` has them."""

    key: int
    received: int
    written: int | None
    asked: Mapping[str, Any]
    answer: Mapping[str, Any] | None
    answer_seq: int

    @property
    def errors(self) -> frozenset[int]:
        """All error codes of the answer except 0."""


class Order:
    """The order of the requests and answers of one connection. `written` has time (ns) and row of the last answer to APIs in ONE_BY_ONE.
    `pipelined` is true once a request was read before the answer to an earlier one was written, and `ahead` has the APIs of requests that
    were read before the answer to an earlier one of the same API was written. `reaction` is the shortest time (ns) from an answer to a
    request with a member or producer id, generation or epoch that only this answer told; GRACE_NS before there was such a request.
    `refused` is the time (ns) of the last answer after which a member begins anew (ANEW), and `crossed` the JoinGroup that was sent when
    the client may not have read it: such a client drops the answer to that JoinGroup, as Java does (JoinGroupResponseHandler)."""

    __slots__ = ("_learnt", "_told", "ahead", "crossed", "last", "pipelined", "reaction", "refused", "written")

    def __init__(self) -> None:
        self.written: dict[int, tuple[int, int]] = {}
        self.ahead: set[int] = set()
        self.last = -1
        self.refused = -GRACE_NS
        self.crossed: Request | None = None
        self.pipelined = False
        self.reaction = GRACE_NS
        self._learnt: Learnt | None = None
        self._told = -1

    def take(self, x: Request, waiting: Collection[Request]) -> None:
        """Note a request after the rules have seen it. `waiting` has the earlier requests of the connection without an answer."""
        if x.key == api_keys.JOIN_GROUP:
            self.crossed = x if x.received - self.refused < GRACE_NS else None
        if x.received < self.last or waiting:
            self.pipelined = True
            if x.received < self.written.get(x.key, NEVER)[0] or any(each.key == x.key for each in waiting):
                self.ahead.add(x.key)
        if self._learnt is not None and self._learnt in _said(x.asked):
            self.reaction = min(self.reaction, x.received - self._told)
            self._learnt = None

    def settle(self, x: Request) -> None:
        """Note an answer after the rules have seen it."""
        if x.written is None:
            return
        self.last = x.written
        if x.key in OF_MEMBERS and x.errors & ANEW:
            self.refused = x.written
        if x.key in ONE_BY_ONE:
            self.written[x.key] = x.written, x.answer_seq
            learnt = None if x.answer is None else _learnt(x, x.answer)
            if learnt is not None:
                self._learnt, self._told = learnt, x.written

    def knew(self, x: Request, told: Request, alone: bool) -> bool:
        """Return whether the client had certainly read the answer `told` on this connection when it sent the request `x` on it, which the
        connection has not noted yet. `alone` says that the client has no other connection for other threads, and no request that waits."""
        assert told.written is not None
        apart = x.received - told.written
        if apart <= 0:
            return False
        if x.key in ONE_BY_ONE and x.key not in self.ahead and self.written.get(x.key, NEVER)[1] >= told.answer_seq:
            return True
        return alone and not self.pipelined and apart >= self.reaction


def _learnt(x: Request, answer: Mapping[str, Any]) -> Learnt | None:
    """Return what only this answer can have told its client, or None if it told nothing new."""
    error = answer.get("error_code")
    if x.key == api_keys.JOIN_GROUP and error in (error_codes.NONE, error_codes.MEMBER_ID_REQUIRED):
        return str(answer["member_id"]), int(answer["generation_id"]) if error == error_codes.NONE else None
    beats = x.key in (api_keys.CONSUMER_GROUP_HEARTBEAT, api_keys.SHARE_GROUP_HEARTBEAT, api_keys.STREAMS_GROUP_HEARTBEAT)
    if beats and error == error_codes.NONE and answer["member_epoch"] != x.asked["member_epoch"]:
        return str(answer["member_id"] or x.asked["member_id"]), int(answer["member_epoch"])
    if x.key == api_keys.INIT_PRODUCER_ID and error == error_codes.NONE:
        return str(answer["producer_id"]), int(answer["producer_epoch"])
    return None


def _said(asked: Mapping[str, Any]) -> tuple[Learnt, ...]:
    """Return what a request shows that its client has learnt."""
    if asked.get("transactional_id") and "producer_id" in asked and not asked.get("member_id"):
        return ((str(asked["producer_id"]), asked["producer_epoch"]),)
    member_id = asked.get("member_id")
    if not member_id:
        return ()
    epoch = asked.get("generation_id", asked.get("generation_id_or_member_epoch", asked.get("member_epoch")))
    return ((str(member_id), None), (str(member_id), epoch))
