"""An effect is an action that the core requests from its driver. The driver performs the effects in list order, and most effects are
journal rows as well (docs/reference/architecture.md#rule-2)."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from groupmock_codec.declare import Message

from .work import Work

if TYPE_CHECKING:
    from .timers import Timer


class Leasing(Protocol):
    """The part of a group that tells the driver whether it may repeat a heartbeat's answer: `epoch` is raised by all changes that could
    alter the answer."""

    group_id: str
    epoch: int

    def end_leases(self) -> None: ...


class AnyGroup(Protocol):
    """The fields of a group of any type that journal rows show."""

    group_id: str
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None

    @property
    def state(self) -> str:
        """Return the group's state by Kafka's name."""

    @property
    def members(self) -> Sized:
        ...


class AnyMember(Protocol):
    """The fields of a group member that journal rows show."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str


class Reason(Protocol):
    """The cause of a change, as a word and as a sentence (`groups.causes`)."""

    @property
    def cause(self) -> str:
        ...

    @property
    def sentence(self) -> str:
        ...


class Leased(Protocol):
    """The part of a group member that the core needs to renew its session when the driver repeats a heartbeat's answer."""

    member_id: str
    session: Timer
    session_timeout_ms: int


class SessionMember(AnyMember, Leased, Protocol):
    """A group member with a session."""


FOR_EVER: Final = 1 << 62
"""A time (ns of the run) that is never reached."""


class Lease(msgspec.Struct, gc=False):
    """The permission to repeat a heartbeat's answer while `group.epoch == epoch` and until `until` (ns of the run;
    docs/reference/architecture.md#leases). `Core.renew` then returns what the driver has to tell of each repetition."""

    group: Leasing
    member: Leased
    epoch: int
    until: int = FOR_EVER


class Reply(msgspec.Struct, gc=False):
    ticket: int
    message: Message
    lease: Lease | None = None


class Replies(msgspec.Struct, gc=False):
    """Many answers at once, which are only built when the driver sends them."""

    replies: Iterator[Reply]


class Silent(msgspec.Struct, gc=False):
    """The request of `ticket` ends without an answer, but its connection stays in use (Produce with acks=0)."""

    ticket: int


class Abandoned(msgspec.Struct, gc=False):
    """The request of `ticket` is never answered and its connection is no longer read, as in Kafka (P1-d6)."""

    ticket: int
    reason: str


class Close(msgspec.Struct, gc=False):
    """Close the connection of `ticket` without an answer, as Kafka does for requests that it does not accept. `over_budget`: it would
    cost too much (core.budget), for which Kafka has no limit."""

    ticket: int
    reason: str
    over_budget: bool = False


class Moved(msgspec.Struct, gc=False):
    """A group has changed its state. `cause` and `reason` say why, as word and sentence (group.causes). `generation` is the one after
    the change."""

    group: str
    before: str
    after: str
    generation: int
    cause: str | None
    reason: str
    leader: str | None
    protocol_type: str | None
    protocol_name: str | None
    members: int


class MemberChanged(msgspec.Struct, gc=False):
    """Something has happened to a member of a group. `what` is reserved, added, replaced, updated, removed, refused or led (became leader).
    Only in consumer groups it may be revoking (was told to revoke partitions), reconciled (has reached the target's epoch), away (a static
    member that left for a while) or fenced (has an epoch that its process does not know)."""

    group: str
    member_id: str
    what: str
    cause: str | None
    reason: str
    group_instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None


class TimerFired(msgspec.Struct, gc=False):
    """A timer has fired and had an effect. `timer` and its `subject` are as in `timers.NAMES`."""

    timer: str
    subject: tuple[str, ...]


class NodeChanged(msgspec.Struct, gc=False):
    """A command has changed a node: it stopped (its port refuses connections), started, stalled (no bytes in or out), resumed, or was
    added."""

    node: int
    what: str


class ClockStepped(msgspec.Struct, gc=False):
    """The driver should advance its clock by `ns`, and fire every timer on the way."""

    ns: int


class Note(msgspec.Struct, gc=False):
    """A journal row about something that is no event of the protocol, such as an expired offset or a topic that Metadata has created."""

    what: str
    fields: dict[str, object]


Effect = Reply | Replies | Work | Silent | Abandoned | Close | Moved | MemberChanged | TimerFired | NodeChanged | ClockStepped | Note
Effects = list[Effect]
