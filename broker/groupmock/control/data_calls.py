"""Routes for topics, configs, committed offsets and lag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from ..core.steering import checked
from ..core.steering.find import group_of, node_or_all, topic_of
from ..core.steering.offsets import Reset, ResetOffsets, resets
from ..core.steering.register import NodeOrAllId
from ..data import facts
from ..data.facts import ConfigRow, TopicFacts, TopicRow
from ..data.lag import GroupLag, lag_of
from .context import ControlContext
from .route import ControlCall, given

if TYPE_CHECKING:
    from ..core.steering.register import Arguments


class NodeOrAll(msgspec.Struct):
    """The path parameter that names a node, or all nodes."""

    node: NodeOrAllId


class DryRun(msgspec.Struct, forbid_unknown_fields=True):
    """The query parameter with which a command only reports what it would do."""

    dry_run: Annotated[bool, Meta(description="only say what would be done")] = False


class OffsetsReset(msgspec.Struct):
    """The committed offsets before and after a reset. `before` is null where none was committed. `seq` is the number of the command's
    row, null for a dry run."""

    seq: int | None
    offsets: list[Reset]


async def topics(context: ControlContext, call: ControlCall) -> list[TopicRow]:
    """Return one row for each topic."""
    known = context.running.cluster.topics
    return [facts.topic_row(known.require(name)) for name in known.names()]


async def topic(context: ControlContext, call: ControlCall) -> TopicFacts:
    """Return the facts of a topic. Raises NoSuch."""
    cluster = context.running.cluster
    return facts.topic_facts(cluster, topic_of(cluster, call.path.name))


async def configs_of_topic(context: ControlContext, call: ControlCall) -> dict[str, ConfigRow]:
    """Return the configs of a topic. Raises NoSuch."""
    cluster = context.running.cluster
    return facts.topic_configs(cluster, topic_of(cluster, call.path.name))


async def configs_of_node(context: ControlContext, call: ControlCall) -> dict[str, ConfigRow]:
    """Return the configs of a node, or of all nodes. Raises NoSuch."""
    cluster = context.running.cluster
    return facts.configs_of_node(cluster, node_or_all(cluster, call.path.node))


async def lag(context: ControlContext, call: ControlCall) -> GroupLag:
    """Return the lag of a group. Raises NoSuch."""
    cluster = context.running.cluster
    return lag_of(cluster, group_of(cluster, call.path.group).view())


async def reset(context: ControlContext, call: ControlCall) -> OffsetsReset:
    """Reset the offsets of a group and return what changed. Raises CannotSteer."""
    arguments = {**given(call.body), **given(call.path)}
    wanted: Arguments = checked("reset_offsets", arguments)
    assert isinstance(wanted, ResetOffsets)
    moves = resets(context.running.cluster, wanted)
    done = None if call.query.dry_run else context.submit("reset_offsets", **arguments)
    return OffsetsReset(None if done is None else done.seq, moves)
