"""The state that all dialogues with one broker share: address, versions, settings, and the probe's own topics and groups."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from groupmock.rig.wire import Client, HungUp, Unreadable
from groupmock.security.login import LoginFailed
from groupmock_codec import APIS, error_codes
from groupmock_codec.api_keys import (
    API_VERSIONS,
    CONSUMER_GROUP_HEARTBEAT,
    CREATE_TOPICS,
    DESCRIBE_ACLS,
    DESCRIBE_CONFIGS,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FETCH,
)
from groupmock_codec.declare import Message, Versions
from groupmock_codec.error_codes import REQUEST_TIMED_OUT, TOPIC_ALREADY_EXISTS
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from groupmock_codec.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from groupmock_codec.messages.k29_describe_acls import DescribeAclsRequest, DescribeAclsResponse
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

from ..language.scope import group_partition
from .access import Access
from .ping import ping
from .steering import Steering

TRANSACTIONS: Final = (22, 25, 26, 28)
"""The APIs that a broker advertises if it has transactions."""
BROKER_RESOURCE: Final = 4
CONNECT_SECONDS: Final = 5
ANSWER_SECONDS: Final = 30
# A coordinator that FindCoordinator has just returned may answer COORDINATOR_LOAD_IN_PROGRESS (14), COORDINATOR_NOT_AVAILABLE (15) or
# NOT_COORDINATOR (16) for some moments (P2-d10).
NOT_READY: Final = (14, 15, 16)
NOT_SERVED: Final = (3, 5, 6)
TRIES_FOR_A_NAME: Final = 200
PREFIX: Final = "groupmock-probe"


class NoBroker(Exception):
    """The broker cannot be reached, or does not answer the first questions."""


class CannotProvide(Exception):
    """The broker works, but cannot provide something that one exchange needs."""


class TcpBroker:
    """A broker that the probe judges, and the probe's own connection to the broker. Threads may share it. Times are in seconds."""

    def __init__(self, host: str, port: int, release: str = "4.3", *, patience: float = 1.0, access: Access | None = None) -> None:
        self.host, self.port, self.release = host, port, release
        self.patience = patience
        self.access = access or Access()
        self.steering = Steering(self)
        self.run = secrets.token_hex(3)
        self.groups: list[str] = []
        self.settings: dict[str, str] = {}
        self.nodes = 1
        self._node = -1
        self._lock = threading.RLock()
        self._topics: dict[str, bytes] = {}
        self._link = self._connect(host, port)
        try:
            self._begin()
        except Unreadable as problem:
            self._link.close()
            raise NoBroker(str(problem)) from problem
        except BaseException:
            self._link.close()
            raise

    def _begin(self) -> None:
        self.ranges = self._read_ranges()
        self._choose_node()
        self.settings = self._read_settings()
        self._wait_for_coordinators()

    def _connect(self, host: str, port: int) -> Client:
        try:
            link = self.access.client(host, port, CONNECT_SECONDS)
        except LoginFailed as refused:
            raise NoBroker(f"cannot authenticate: {refused}") from refused
        except OSError as problem:
            raise NoBroker(f"cannot connect: {problem.strerror or problem}") from problem
        link.socket.settimeout(ANSWER_SECONDS)
        return link

    def ask(self, key: int, version: int, message: Message) -> Message:
        """Send one request and return its answer. Raises NoBroker, Unreadable."""
        with self._lock:
            try:
                answer: Message = self._link.ask(key, version, message, trailing=True)
            except HungUp as problem:
                raise NoBroker(str(problem)) from problem
            except OSError as problem:
                raise NoBroker(f"no answer to {APIS[key].name}: {problem.strerror or problem}") from problem
            return answer

    def renew(self) -> None:
        """Open a new connection, because a broker closes one that was idle for long (connections.max.idle.ms). Raises NoBroker."""
        with self._lock:
            self._link.close()
            self._link = self._connect(self.host, self.port)

    def connect_again(self) -> None:
        """Reconnect after the broker died: wait for an answer and for ready coordinators, and forget the topics. Raises NoBroker."""
        with self._lock:
            self.renew()
            self._topics.clear()
            try:
                self._read_ranges()
                self._wait_for_coordinators()
            except Unreadable as problem:
                raise NoBroker(str(problem)) from problem

    def alive(self) -> bool:
        """Tell whether the broker answers a new connection. A slow answer counts. Merely accepting does not, because a dying process may
        still accept."""
        try:
            with self.access.client(self.host, self.port, CONNECT_SECONDS) as link:
                ping(link.socket)
        except TimeoutError:
            return True
        except (OSError, LoginFailed, Unreadable):
            return False
        return True

    def versions(self, key: int) -> Versions | None:
        """Return the versions of an API that both broker and probe have."""
        theirs, ours = self.ranges.get(key), APIS[key].versions
        if theirs is None:
            return None
        both = Versions(max(theirs.lowest, ours.lowest), min(theirs.highest, ours.highest))
        return both if both.lowest <= both.highest else None

    def limit(self, key: int, highest: int) -> None:
        """Limit the versions of an API that the probe uses to those up to `highest`."""
        theirs = self.ranges.get(key)
        if theirs is not None:
            self.ranges[key] = Versions(theirs.lowest, max(min(theirs.highest, highest), theirs.lowest))

    def best(self, key: int, highest: int) -> int | None:
        """Return the highest version up to `highest` that both broker and probe have, or None."""
        offered = self.versions(key)
        if offered is None or offered.lowest > highest:
            return None
        return min(offered.highest, highest)

    def _read_ranges(self) -> dict[int, Versions]:
        answer = self.ask(API_VERSIONS, 0, ApiVersionsRequest())
        assert isinstance(answer, ApiVersionsResponse)
        if answer.error_code or not answer.api_keys:
            raise NoBroker(f"ApiVersions is answered with error {answer.error_code} and {len(answer.api_keys)} rows")
        return {row.api_key: Versions(row.min_version, row.max_version) for row in answer.api_keys}

    def _metadata(self, topics: list[MetadataRequestTopic], create: bool = False) -> MetadataResponse:
        version = self.best(METADATA, 12)
        if version is None:
            raise NoBroker("it offers no Metadata")
        if version in (10, 11):  # Metadata v10 and v11 have a field for topic ids, but brokers do not accept ids in these versions.
            version = 9
        # Metadata v0-3 lack allow_auto_topic_creation and always mean its default, true.
        answer = self.ask(METADATA, version, MetadataRequest(topics=topics, allow_auto_topic_creation=create or version < 4))
        assert isinstance(answer, MetadataResponse)
        return answer

    def _choose_node(self) -> None:
        """Choose the node whose groups are probed. A single node is reached at the given address."""
        answer = self._metadata([])
        self.nodes = max(len(answer.brokers), 1)
        mine = [each.node_id for each in answer.brokers if (each.host, each.port) == (self.host, self.port)]
        if self.nodes == 1 and answer.brokers:
            self._node = answer.brokers[0].node_id
        elif mine:
            self._node = mine[0]
        elif answer.brokers:
            first = answer.brokers[0]
            self._link.close()
            self.host, self.port, self._node = first.host, first.port, first.node_id
            self._link = self._connect(first.host, first.port)

    def has_authorizer(self) -> bool:
        """Tell whether the broker has an authorizer. Raises NoBroker, Unreadable."""
        return self._acls() != error_codes.SECURITY_DISABLED

    def is_super_user(self) -> bool:
        """Tell whether the probe's own principal may read rules, as super users may. Raises NoBroker, Unreadable."""
        return self._acls() == error_codes.NONE

    def _acls(self) -> int:
        version = self.best(DESCRIBE_ACLS, 2)
        if version is None:
            return error_codes.SECURITY_DISABLED
        everything = DescribeAclsRequest(
            resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1, principal_filter=None, host_filter=None, operation=1,
            permission_type=1,
        )  # fmt: skip
        answer = self.ask(DESCRIBE_ACLS, version, everything)
        assert isinstance(answer, DescribeAclsResponse)
        return answer.error_code

    def _read_settings(self) -> dict[str, str]:
        """Return the broker's settings as far as it tells them (DescribeConfigs)."""
        version = self.best(DESCRIBE_CONFIGS, 3)
        if version is None:
            return {}
        wanted = DescribeConfigsResource(resource_type=BROKER_RESOURCE, resource_name=str(self._node), configuration_keys=None)
        answer = self.ask(DESCRIBE_CONFIGS, version, DescribeConfigsRequest(resources=[wanted]))
        assert isinstance(answer, DescribeConfigsResponse)
        return {each.name: each.value for result in answer.results for each in result.configs if each.value is not None}

    def _wait_for_coordinators(self) -> None:
        """Wait until the group coordinators answer. The first look-up creates the offsets topic, whose partitions on this node must
        answer before groups are judged."""
        if self.nodes > 1:
            self._until(lambda: self._coordinates(self.group()), "no group coordinator answers")
            return
        for name in _names(self._partitions("offsets.topic.num.partitions", 1)).values():
            self._until(partial(self._ready, name), f"no coordinator for group {name}")

    def _partitions(self, setting: str, otherwise: int) -> int:
        """Return the number of an internal topic's partitions: the broker's own value if that is plausible, else a default."""
        told = self.settings.get(setting, "")
        return int(told) if told.isdecimal() and len(told) < 5 and int(told) else otherwise

    def _until(self, done: Callable[[], bool], complaint: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                raise NoBroker(f"{complaint} after {seconds:.0f} s")
            time.sleep(0.05)  # The broker is polled, because it offers no event to wait for.

    def _finds(self, group: str) -> bool:
        """Tell whether the probed node is the group's coordinator."""
        version = self.best(FIND_COORDINATOR, 3)
        if version is None:
            raise NoBroker("it offers no FindCoordinator")
        answer = self.ask(FIND_COORDINATOR, version, FindCoordinatorRequest(key=group))
        assert isinstance(answer, FindCoordinatorResponse)
        return answer.error_code == 0 and (self.nodes == 1 or answer.node_id == self._node)

    def _ready(self, group: str) -> bool:
        return self._finds(group) and self._coordinates(group)

    def _coordinates(self, group: str) -> bool:
        version = self.best(OFFSET_FETCH, 7)
        if version is None:
            return True
        answer = self.ask(OFFSET_FETCH, version, OffsetFetchRequest(group_id=group, topics=[]))
        assert isinstance(answer, OffsetFetchResponse)
        return answer.error_code not in NOT_READY

    def group(self) -> str:
        """Return a new group id that this node coordinates, and remember it for the cleanup."""
        for _ in range(TRIES_FOR_A_NAME):
            name = f"{PREFIX}-{self.run}-{secrets.token_hex(5)}"
            if self.nodes == 1 or self._finds(name):
                with self._lock:
                    self.groups.append(name)
                return name
            time.sleep(0.01)
        raise NoBroker(f"none of {TRIES_FOR_A_NAME} groups has {self.host}:{self.port} as its coordinator")

    def wait_for_transactions(self, seconds: float = 20) -> None:
        """Wait until every transaction coordinator answers, if there are any. Raises CannotProvide otherwise."""
        if any(self.versions(key) is None for key in TRANSACTIONS):
            return
        try:
            for name in _names(self._partitions("transaction.state.log.num.partitions", 50)).values():
                self._until(partial(self._has_producer, name), f"no transaction coordinator for {name}", seconds)
        except (NoBroker, Unreadable) as problem:
            raise CannotProvide(str(problem)) from problem

    def _has_producer(self, transactional_id: str) -> bool:
        self.ask(FIND_COORDINATOR, 1, FindCoordinatorRequest(key=transactional_id, key_type=1))
        answer = self.ask(INIT_PRODUCER_ID, 1, InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=10_000))
        assert isinstance(answer, InitProducerIdResponse)
        return answer.error_code == 0

    def has_consumer_protocol_off(self) -> bool:
        """Tell whether the broker refuses every ConsumerGroupHeartbeat with UNSUPPORTED_VERSION (35), although it advertises KIP-848.
        Exchanges judge all other errors. The request has no group id, so it changes nothing. Raises NoBroker, Unreadable."""
        offered = self.versions(CONSUMER_GROUP_HEARTBEAT)
        if offered is None:
            return False
        answer = self.ask(CONSUMER_GROUP_HEARTBEAT, offered.lowest, ConsumerGroupHeartbeatRequest())
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        return answer.error_code == error_codes.UNSUPPORTED_VERSION

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> tuple[str, bytes]:
        """Create the probe's topic of that name and size if needed. Returns its real name and its id (zero if the broker has no ids).
        With `configs` the topic is a new one."""
        real = f"{PREFIX}-{self.run}-{name}-{partitions}" + ("" if configs is None else f"-{secrets.token_hex(5)}")
        with self._lock:
            if real not in self._topics:
                self._topics[real] = self.make_topic(real, partitions, configs or {})
            return real, self._topics[real]

    def make_topic(self, real: str, partitions: int, configs: Mapping[str, str], leaders: Sequence[int] = ()) -> bytes:
        """Create a topic of exactly that name, wait until it is served, and return its id. `leaders` are the only replicas of its
        partitions, or empty if the broker chooses. Raises CannotProvide, NoBroker, Unreadable."""
        self._create(real, partitions, configs, leaders)
        return self._wait_for(real, partitions)

    def _served(self, real: str, partitions: int) -> bool:
        """Tell whether the leader of a new topic's partitions serves them already. On KRaft it takes a moment after the metadata name it
        (error 6, seen on 4.3.0)."""
        version = self.best(LIST_OFFSETS, 5)
        if version is None or self.nodes > 1:  # The connection reaches only one of several nodes, so the other leaders cannot be asked.
            return True
        asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)]
        answer = self.ask(LIST_OFFSETS, version, ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=real, partitions=asked)]))
        assert isinstance(answer, ListOffsetsResponse)
        return all(row.error_code not in NOT_SERVED for topic in answer.topics for row in topic.partitions)

    @property
    def topics(self) -> Mapping[str, bytes]:
        return self._topics

    def _create(self, real: str, partitions: int, configs: Mapping[str, str], leaders: Sequence[int]) -> None:
        version = self.best(CREATE_TOPICS, 4)
        if version is None:  # A broker without CreateTopics creates topics when it is asked for their metadata.
            self._metadata([MetadataRequestTopic(name=real)], create=True)
            return
        settings = [CreatableTopicConfig(name=name, value=value) for name, value in configs.items()]
        wanted = CreatableTopic(name=real, num_partitions=partitions, replication_factor=1, configs=settings)
        if leaders:
            wanted.num_partitions = wanted.replication_factor = -1
            wanted.assignments = [
                CreatableReplicaAssignment(partition_index=index, broker_ids=[node]) for index, node in enumerate(leaders)
            ]
        answer = self.ask(CREATE_TOPICS, version, CreateTopicsRequest(topics=[wanted], timeout_ms=ANSWER_SECONDS * 500))
        assert isinstance(answer, CreateTopicsResponse)
        if answer.topics[0].error_code not in (0, TOPIC_ALREADY_EXISTS, REQUEST_TIMED_OUT):
            raise CannotProvide(f"topic {real} cannot be created: error {answer.topics[0].error_code}")

    def _wait_for(self, real: str, partitions: int) -> bytes:
        found: list[MetadataResponseTopic] = []

        def there() -> bool:
            found[:] = self._metadata([MetadataRequestTopic(name=real)]).topics
            led = bool(found) and found[0].error_code == 0 and all(each.leader_id >= 0 for each in found[0].partitions)
            return led and self._served(real, len(found[0].partitions))

        try:
            self._until(there, f"topic {real} has no leaders", 20)
        except NoBroker as problem:
            raise CannotProvide(str(problem)) from problem
        if len(found[0].partitions) != partitions:
            raise CannotProvide(f"a topic of {partitions} partitions cannot be had: the broker made one of {len(found[0].partitions)}")
        return found[0].topic_id

    def close(self) -> None:
        self._link.close()


def _names(partitions: int) -> dict[int, str]:
    """Return a name for each partition of an internal topic, chosen by Java's hash."""
    return {group_partition(name, partitions): name for name in (f"{PREFIX}-warm-{number}" for number in range(40 * partitions))}
