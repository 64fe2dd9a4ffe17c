"""Routes for the cluster as a whole: health, nodes, groups, reset, seed and metrics."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import msgspec
from msgspec import Meta

from groupmock_codec.units import NS_PER_MS

from ..core.groups.kinds import kinds
from ..core.groups.view import GroupView
from ..core.steering.find import group_of
from ..core.steering.register import NodeId
from ..core.steering.users import UserName
from ..version import __version__
from .context import ControlContext, Done
from .route import ControlCall
from .slicing import in_slices


class GroupPath(msgspec.Struct):
    """The path parameter that names a group."""

    group: Annotated[str, Meta(description="group id", min_length=1)]


class GroupAsk(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The parts of a group that an answer includes."""

    story: Annotated[bool, Meta(description="false: without its story, which takes longest")] = True


class NodePath(msgspec.Struct):
    """The path parameter that names a node."""

    node: NodeId


class UserPath(msgspec.Struct):
    """The path parameter that names a user."""

    name: UserName


class TopicPath(msgspec.Struct):
    """The path parameter that names a topic."""

    topic: Annotated[str, Meta(description="topic name", min_length=1)]


class TopicName(msgspec.Struct):
    """The path parameter that names a topic, for commands whose argument is `name`."""

    name: Annotated[str, Meta(description="topic name", min_length=1)]


class MoreNode(msgspec.Struct, forbid_unknown_fields=True):
    """The rack and the port of a node that is to be added."""

    rack: Annotated[Annotated[str, Meta(min_length=1)] | None, Meta(description="its broker.rack")] = None
    port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        Meta(description="where it listens; 0: a free port; null: the next one, or a free one where all nodes have free ones"),
    ] = None


class NodeAdded(msgspec.Struct):
    """An added node with the address that clients are told. `seq` is the number of the command's row."""

    seq: int
    id: int
    host: str
    port: int


class NodeHealth(msgspec.Struct):
    """A node with the address that clients are told. `state` is running, stalled or stopped; `coordinates` counts partitions of
    __consumer_offsets, `leads` partitions of topics; `rack` is its broker.rack."""

    id: int
    host: str
    port: int
    state: str
    connections: int
    coordinates: int
    leads: int
    rack: str | None


class Health(msgspec.Struct):
    """The state of the cluster. `t` is the run time in ns, as in journal rows; `seq` is the number of the last row; `audited` says whether
    GET /audit works. `not_let_in` says which clients TLS, SASL or the authorizer did not let in, why, and what to do."""

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
    not_let_in: list[str]


class GroupRow(msgspec.Struct):
    """A group in one row. `type` names its state machine (GET /states); `protocol` is the assignor of its generation; `held` is the
    state that it is held in, or will be."""

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
    """A group with its members, decoded assignments and story. `waiting` counts the requests and timers that a hold delays. `silent_ms`
    has ms since each member's last sign of life (a Heartbeat, a commit, an answer), or null while a new member waits for its first
    answer."""

    group: GroupView
    coordinator: int | None
    held: str | None
    waiting: int
    frozen: list[str]
    silent_ms: dict[str, int | None]
    story: list[str]


class StateRow(msgspec.Struct):
    """A state of a type of group, and the states that may follow it."""

    state: str
    next: list[str]


class Seed(msgspec.Struct, forbid_unknown_fields=True):
    """The seed of random ids and of chances."""

    seed: Annotated[int, Meta(description="of every id and every chance drawn from now on", ge=0, le=2**63 - 1)]


async def health(context: ControlContext, call: ControlCall) -> Health:
    """Return the state of the cluster."""
    running = context.running
    cluster = running.cluster
    environment = cluster.environment
    up = {node.node_id for node in environment.up}
    on = [connection.node for connection in running.server.driver.connections.values()]
    leads = Counter(partition.leader for name in cluster.topics.names() for partition in cluster.topics.require(name).partitions)
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
        running.audit_sink is not None, running.refused_clients.sentences(),
    )


async def groups(context: ControlContext, call: ControlCall) -> list[GroupRow]:
    """Return one row for each group."""
    cluster = context.running.cluster
    rows = []
    async for group in in_slices(cluster.groups.all()):
        rows.append(
            GroupRow(
                group.group_id,
                group.group_type,
                str(group.state),
                group.generation,
                group.protocol_name,
                len(group.members),
                group.leader_id,
                cluster.groups.hosting.node_of(group.group_id),
                cluster.environment.holds.of(group.group_id).state,
            )
        )
    return rows


async def states(context: ControlContext, call: ControlCall) -> dict[str, list[StateRow]]:
    """Return the state machine of each type of group, from the table by which the coordinator checks its transitions."""
    return {
        kind.group_type: [StateRow(str(state), [str(each) for each in kind.may_follow if each in after])
                          for state, after in kind.may_follow.items()]
        for kind in kinds()
    }  # fmt: skip


async def group(context: ControlContext, call: ControlCall) -> GroupDetails:
    """Return the details of a group. Raises NoSuch."""
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
    """Add a node to the cluster. Raises NotNow."""
    running = context.running
    seq = running.server.journal.sequence + 1
    number = running.add_node(call.body.rack, call.body.port)
    node = running.core.environment.identity.nodes[-1]
    return NodeAdded(seq, number, node.host, node.port)


async def reset(context: ControlContext, call: ControlCall) -> Health:
    """Replace the cluster by a new one on the same ports."""
    await context.reset()
    return await health(context, call)


async def seed(context: ControlContext, call: ControlCall) -> Done:
    """Seed the generators of ids and of the faults' chances."""
    done = context.submit("reseed", seed=call.body.seed)
    # A second command sets the seed of the faults, because they have a random source of their own, so that a fault rule changes no member
    # id.
    context.submit("seed_faults", seed=call.body.seed)
    return done


async def metrics(context: ControlContext, call: ControlCall) -> bytes:
    """Return the metrics in the text format of Prometheus."""
    # This import is here because the table of routes imports this file and works without the extra `control`.
    from .metrics import text_of

    return await text_of(context.running)
