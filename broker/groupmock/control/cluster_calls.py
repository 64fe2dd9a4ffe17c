"""What there is: health, nodes, groups; reset, seed and metrics."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import msgspec
from msgspec import Meta

from groupmock_codec.units import NS_PER_MS

from ..core.groups.registry import TYPES
from ..core.groups.view import GroupView
from ..core.steering.find import group_of
from ..core.steering.register import NodeId
from ..version import __version__
from .context import ControlContext, Done
from .route import ControlCall
from .slicing import in_slices


class GroupPath(msgspec.Struct):
    """One group."""

    group: Annotated[str, Meta(description="group id", min_length=1)]


class GroupAsk(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How much of a group."""

    story: Annotated[bool, Meta(description="false: without its story, which takes longest")] = True


class NodePath(msgspec.Struct):
    """One node."""

    node: NodeId


class TopicPath(msgspec.Struct):
    """One topic."""

    topic: Annotated[str, Meta(description="topic name", min_length=1)]


class TopicName(msgspec.Struct):
    """One topic, by the argument that commands about topics call it."""

    name: Annotated[str, Meta(description="topic name", min_length=1)]


class MoreNode(msgspec.Struct, forbid_unknown_fields=True):
    """Of a node that is added."""

    rack: Annotated[Annotated[str, Meta(min_length=1)] | None, Meta(description="its broker.rack")] = None
    port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        Meta(description="where it listens; 0: a free port; null: the next one, or a free one where all nodes have free ones"),
    ] = None


class NodeAdded(msgspec.Struct):
    """A node that was added, as clients are told of it. `seq`: the number of the command's row."""

    seq: int
    id: int
    host: str
    port: int


class NodeHealth(msgspec.Struct):
    """A node as clients are told of it. `state`: running, stalled or stopped; `coordinates`: partitions of __consumer_offsets; `leads`:
    partitions of topics; `rack`: its broker.rack."""

    id: int
    host: str
    port: int
    state: str
    connections: int
    coordinates: int
    leads: int
    rack: str | None


class Health(msgspec.Struct):
    """The cluster. `t`: run time in ns, as in journal rows; `seq`: the number of the last row; `audited`: is there GET /audit?"""

    ok: bool
    version: str
    bootstrap: str
    profile: str
    seed: int
    t: int
    seq: int
    nodes: list[NodeHealth]
    topics: dict[str, int]
    audited: bool


class GroupRow(msgspec.Struct):
    """A group in one line. `type`: whose machine it is (GET /states); `protocol`: the assignor of its generation; `held`: the state that it
    is held in, or will be."""

    group_id: str
    type: str
    state: str
    generation: int
    protocol: str | None
    members: int
    leader: str | None
    coordinator: int | None
    held: str | None


class GroupDetails(msgspec.Struct):
    """A group with its members, assignments decoded, and its story. `waiting`: requests and timers that the hold keeps; `silent_ms`: member
    id -> ms since its last sign of life (a Heartbeat, a commit, an answer), null while a new member waits for its first answer."""

    group: GroupView
    coordinator: int | None
    held: str | None
    waiting: int
    frozen: list[str]
    silent_ms: dict[str, int | None]
    story: list[str]


class StateRow(msgspec.Struct):
    """A state of a type of group, and which may come next."""

    state: str
    next: list[str]


class Seed(msgspec.Struct, forbid_unknown_fields=True):
    """A seed."""

    seed: Annotated[int, Meta(description="of every id and every chance drawn from now on", ge=0, le=2**63 - 1)]


async def health(context: ControlContext, call: ControlCall) -> Health:
    """The cluster as it is."""
    running = context.running
    cluster = running.cluster
    environment = cluster.environment
    up = {node.node_id for node in environment.up}
    on = [connection.node for connection in running.server.driver.connections.values()]
    leads = Counter(each.leader for name in cluster.topics.names() for each in cluster.topics.require(name).partitions)
    nodes = [
        NodeHealth(
            node.node_id,
            node.host,
            node.port,
            "stopped" if node.node_id not in up else "stalled" if node.node_id in environment.stalled else "running",
            on.count(node.node_id),
            len(cluster.groups.hosting.led_by(node.node_id)),
            leads[node.node_id],
            node.rack,
        )
        for node in environment.identity.nodes
    ]
    topics = {name: cluster.topics.partitions(name) or 0 for name in cluster.topics.names()}
    t, seq = running.clock.now(), running.server.journal.sequence
    return Health(
        True, __version__, running.bootstrap, running.config.profile.name, running.seed, t, seq, nodes, topics,
        running.audit_sink is not None,
    )


async def groups(context: ControlContext, call: ControlCall) -> list[GroupRow]:
    """Every group there is."""
    cluster = context.running.cluster
    rows = []
    async for each in in_slices(cluster.groups.all()):
        rows.append(
            GroupRow(
                each.group_id,
                each.group_type,
                str(each.state),
                each.generation,
                each.protocol_name,
                len(each.members),
                each.leader_id,
                cluster.groups.hosting.node_of(each.group_id),
                cluster.environment.holds.of(each.group_id).state,
            )
        )
    return rows


async def states(context: ControlContext, call: ControlCall) -> dict[str, list[StateRow]]:
    """The machine of each type of group, from the table that the coordinator holds every move against."""
    return {
        kind.group_type: [StateRow(str(state), [str(each) for each in kind.may_follow if each in after])
                          for state, after in kind.may_follow.items()]
        for kind in TYPES
    }  # fmt: skip


async def group(context: ControlContext, call: ControlCall) -> GroupDetails:
    """One group."""
    cluster = context.running.cluster
    found = group_of(cluster, call.path.group)
    held = cluster.environment.holds.of(found.group_id)
    return GroupDetails(
        group=found.view(),
        coordinator=cluster.groups.hosting.node_of(found.group_id),
        held=held.state,
        waiting=held.waiting,
        frozen=list(held.frozen),
        silent_ms={member: ns if ns is None else ns // NS_PER_MS for member, ns in found.silent(context.running.clock.now()).items()},
        story=await context.running.story(found.group_id) if call.query.story else [],
    )


async def add_node(context: ControlContext, call: ControlCall) -> NodeAdded:
    """One more. Raises NotNow."""
    running = context.running
    seq = running.server.journal.sequence + 1
    number = running.add_node(call.body.rack, call.body.port)
    node = running.core.environment.identity.nodes[-1]
    return NodeAdded(seq, number, node.host, node.port)


async def reset(context: ControlContext, call: ControlCall) -> Health:
    """A new cluster where the old one was."""
    await context.reset()
    return await health(context, call)


async def seed(context: ControlContext, call: ControlCall) -> Done:
    """Ids and chances are drawn anew."""
    done = context.submit("reseed", seed=call.body.seed)
    # A second command: chances of faults have dice of their own, so that a rule changes no member id.
    context.submit("seed_faults", seed=call.body.seed)
    return done


async def metrics(context: ControlContext, call: ControlCall) -> bytes:
    """The exposition format of Prometheus."""
    # Here, not above: the table of routes imports this file and is read without the extra `control` too.
    from .metrics import text_of

    return await text_of(context.running)
