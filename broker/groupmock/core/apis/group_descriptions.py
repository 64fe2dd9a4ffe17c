"""ConsumerGroupDescribe (69), ShareGroupDescribe (77) and StreamsGroupDescribe (89) describe the groups whose coordinator assigns. They
check and answer alike, and differ in their messages and in the parts of a group that are shown (CG-50 to CG-57, SG-50 to SG-52, ST-50)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from groupmock_codec import error_codes

from ..authorizer.acl import DESCRIBE, GROUP, TOPIC
from ..budget import OverBudget, Ration, fitting

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..cluster import Cluster
    from ..events import Request
    from ..log.topics import Topics
    from ..turn import Turn
    from ..work import Steps

GROUP_COST: Final = 9
MEMBER_COST: Final = 8
HIDDEN: Final = "The group has described topic(s) that the client is not authorized to describe."


class Described(Protocol):
    """The message about one group, which has the same fields in both APIs."""

    error_code: int
    group_id: str
    authorized_operations: int

    @property
    def members(self) -> Sequence[Any]: ...


D = TypeVar("D", bound=Described)


class Kind(NamedTuple, Generic[D]):
    """The differences between the APIs. `cost` is the work for the partitions of a group, `topics_of` names the topics in a described
    group, `name` is for Kafka's error message, and `hidden` is the message if a topic may not be described. `texts` has the messages of
    errors of the coordinator."""

    name: str
    of: type[Any]
    message: type[D]
    cost: Callable[[Any], int]
    describe: Callable[[Turn, Any, Topics], Generator[None, None, D]]
    topics_of: Callable[[D], Iterable[str]]
    hidden: str = HIDDEN
    texts: Mapping[int, str] = {}


def answer(
    kind: Kind[D],
    cluster: Cluster,
    request: Request,
    turn: Turn,
    group_ids: list[str],
    answered: Callable[[list[D]], Message],
    *,
    served: bool,
    with_operations: bool,
) -> None:
    """Answer a request that names these groups with what `answered` makes of their descriptions, in steps if there is much to describe.
    Without `served` the cluster has no such groups."""
    ration, elements = Ration(turn.settings), _elements(kind, cluster, group_ids)
    ration.take_names(group_ids, GROUP_COST)
    ration.take(sum(members * MEMBER_COST + partitions for members, partitions in elements))

    def steps(turn: Turn) -> Steps:
        groups = yield from _described(kind, cluster, request, turn, group_ids, served)
        try:
            ration.take(0, size=sum([_size(kind, group) for group in groups]))
        except OverBudget as refusal:
            turn.refuse(request.ticket, refusal)
            return
        for group in groups:
            if with_operations and not group.error_code:
                group.authorized_operations = cluster.operations(request, GROUP, group.group_id)
        turn.reply(request.ticket, answered(groups))

    turn.begin_request(steps, sum(map(sum, elements)), frozenset(group_ids))


def _described(
    kind: Kind[D], cluster: Cluster, request: Request, turn: Turn, group_ids: list[str], served: bool
) -> Generator[None, None, list[D]]:
    """Describe each group, even one that is listed twice. Empty ids come first, the others by partition of the offsets topic."""
    refused: Callable[..., D] = kind.message
    if not served:
        return [refused(group_id=each, error_code=error_codes.UNSUPPORTED_VERSION) for each in group_ids]
    denied = cluster.denied(turn, request, DESCRIBE, GROUP, group_ids)
    groups = [refused(group_id=each, error_code=error_codes.GROUP_AUTHORIZATION_FAILED) for each in group_ids if each in denied]
    allowed = [group_id for group_id in group_ids if group_id not in denied]
    groups += [refused(group_id=each, error_code=error_codes.INVALID_GROUP_ID) for each in allowed if not each]
    for group_id in cluster.groups.in_order(turn, [group_id for group_id in allowed if group_id]):
        groups.append((yield from _described_one(kind, cluster, turn, request, group_id)))
    return groups if cluster.authorizer is None else _without_hidden_topics(kind, cluster, turn, request, groups)


def _without_hidden_topics(kind: Kind[D], cluster: Cluster, turn: Turn, request: Request, groups: list[D]) -> list[D]:
    """Refuse the groups in whose assignments or targets is a topic that the sender may not describe (SEC-118)."""
    topics = [(group, dict.fromkeys(kind.topics_of(group))) for group in groups]
    denied = cluster.denied(turn, request, DESCRIBE, TOPIC, (name for _, names in topics for name in names))
    refused: Callable[..., D] = kind.message
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    return [
        refused(group_id=group.group_id, error_code=code, error_message=kind.hidden) if denied.intersection(names) else group
        for group, names in topics
    ]


def _elements(kind: Kind[D], cluster: Cluster, group_ids: list[str]) -> list[tuple[int, int]]:
    """Return the members and the work for the partitions of each group, as often as it is named."""
    named = [(group, times) for group_id, times in Counter(group_ids).items() if (group := cluster.groups.find(group_id)) is not None]
    return [(times * len(group.members), times * kind.cost(group)) for group, times in named if isinstance(group, kind.of)]


def _size(kind: Kind[D], group: D) -> int:
    subscribed = [len(name) for each in group.members for name in getattr(each, "subscribed_topic_names", ())]
    topics = sum(subscribed) if subscribed else sum(map(len, kind.topics_of(group)))
    return len(group.group_id) + sum(len(each.member_id) for each in group.members) + topics


def _described_one(kind: Kind[D], cluster: Cluster, turn: Turn, request: Request, group_id: str) -> Generator[None, None, D]:
    error, group = cluster.groups.reach(group_id, request.node)
    refused: Callable[..., D] = kind.message
    if error:
        return refused(group_id=group_id, error_code=error, error_message=kind.texts.get(error))
    if isinstance(group, kind.of):
        return (yield from kind.describe(turn, group, cluster.topics))
    text = fitting(f"Group {group_id} not found." if group is None else f"Group {group_id} is not a {kind.name} group.")
    return refused(group_id=group_id, error_code=error_codes.GROUP_ID_NOT_FOUND, error_message=text)
