"""Commands for configs change those of a topic, of a group, of one node or of all nodes while the cluster runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from groupmock_codec.error_codes import error_name

from ..groups.configs import GROUP
from ..log.altering import BROKER, TOPIC, alter
from ..log.broker_configs import CLUSTER_WIDE
from ..log.change import DELETE, SET, Alteration, Change
from ..log.refusal import TopicRefused
from .find import node_or_all, partitions_of
from .register import Arguments, BadArguments, Group, NodeOrAllId, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

Set = Annotated[dict[str, str] | None, Meta(description="configs by Kafka's names, and their values: retention.ms=1000")]
Unset = Annotated[list[str] | None, Meta(description="configs that go back to what holds where nothing is set")]


class ConfigureTopic(Arguments):
    """Set configs of a topic, or return them to their defaults."""

    name: TopicName
    set: Set = None
    unset: Unset = None


@steers("configure_topic", ConfigureTopic)
def configure_topic(cluster: Cluster, arguments: ConfigureTopic, turn: Turn) -> None:
    """Change all configs of the topic or none. A change that IncrementalAlterConfigs refuses is refused."""
    partitions_of(cluster, arguments.name)
    _alter(cluster, turn, cluster.topics.controller(), TOPIC, arguments.name, arguments)


class ConfigureNode(Arguments):
    """Set broker configs of one node or of all nodes, if they can change at run time, or return them to their defaults."""

    node: NodeOrAllId = 0
    set: Set = None
    unset: Unset = None


@steers("configure_node", ConfigureNode)
def configure_node(cluster: Cluster, arguments: ConfigureNode, turn: Turn) -> None:
    """Change all broker configs or none. A change that IncrementalAlterConfigs refuses is refused, for instance of a config that is read
    at start."""
    node = node_or_all(cluster, arguments.node)
    if node is None:
        _alter(cluster, turn, cluster.topics.controller(), BROKER, CLUSTER_WIDE, arguments)
    else:
        _alter(cluster, turn, node, BROKER, str(node), arguments)


class ConfigureGroup(Arguments):
    """Set configs of a group, which need not exist, or return them to the broker's values: share.auto.offset.reset=earliest."""

    group: Group
    set: Set = None
    unset: Unset = None


@steers("configure_group", ConfigureGroup)
def configure_group(cluster: Cluster, arguments: ConfigureGroup, turn: Turn) -> None:
    """Change all configs of the group or none. A change that IncrementalAlterConfigs refuses is refused."""
    _alter(cluster, turn, cluster.topics.controller(), GROUP, arguments.group, arguments)


def _alter(
    cluster: Cluster, turn: Turn, node: int, kind: int, name: str, arguments: ConfigureTopic | ConfigureNode | ConfigureGroup
) -> None:
    if not arguments.set and not arguments.unset:
        raise BadArguments("nothing to change: name configs to set or to unset")
    changes = [Change(key, SET, value) for key, value in (arguments.set or {}).items()]
    changes += [Change(key, DELETE, None) for key in arguments.unset or ()]
    wanted = Alteration(kind, name, changes, replace=False)
    try:
        if kind == GROUP:
            cluster.groups.configs.alter(node, wanted, False)
        else:
            alter(turn, cluster.topics, node, wanted, False)
    except TopicRefused as refused:
        raise BadArguments(f"{refused.message.rstrip('.') or error_name(refused.code)}: nothing was changed") from None
