"""Declares the settings of the core under Kafka's own names, and the quirks of Kafka's releases. `config.resolve` reads names, types,
defaults and descriptions from these annotations, so that CLI, TOML, environment and docs agree.

`Annotated[type, setting("kafka.name", "what it does", lowest, highest)]`; times are milliseconds, sizes bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import msgspec

from groupmock_codec.record_costs import CONVERTED, OPENED

from .setting_declarations import INT_MAX, LONG_MAX, setting
from .setting_declarations import Declaration as Declaration
from .setting_declarations import declarations as declarations
from .share_settings import ShareSettings

if TYPE_CHECKING:
    from groupmock_codec.room import Room


class Quirks(msgspec.Struct, frozen=True):
    """Differences between Kafka releases, as one named flag per row of docs/kafka/releases.md. All false is groupmock's own profile:
    Kafka 4.4.0 without the flags that 4.4.0 has (one of them makes large test groups hang, one leaves a client waiting). The comment of
    a flag names the releases that have it."""

    malformed_subscription_hangs: bool = False  # 4.3 3.9: a Subscription with a false count or length keeps the join phase from ending
    doubled_protocol_hangs: bool = False  # 4.4 4.3 3.9: a protocol that a member lists twice keeps the join phase from ending
    group_record_limit: bool = False  # 4.4 4.3 3.9: a group record (or commit) above message.max.bytes is refused
    failing_join_unanswered: bool = False  # 3.9: a join phase that failed once is never completed, and no member gets an answer
    # 3.9: only a group without any generation so far extends the initial rebalance delay for new members
    new_member_at_generation_zero: bool = False
    expiry_keeps_initial_delay: bool = False  # 3.9: an expiry never cuts the initial rebalance delay short
    sync_renews_session: bool = False  # 3.9: a SyncGroup in state Stable renews the session
    # 3.9: SyncGroup v5 in a new group's initial delay gets INCONSISTENT_GROUP_PROTOCOL (23), not REBALANCE_IN_PROGRESS (27)
    sync_before_first_generation_inconsistent: bool = False
    # 3.9: refusing a member with GROUP_MAX_SIZE_REACHED (81) ends the join phase if all others are parked
    refused_member_ends_phase: bool = False
    # 3.9: if refusing a member ends the join phase and that fails, the answer is UNKNOWN_SERVER_ERROR (-1), not 81
    failing_phase_replaces_refusal: bool = False
    # 3.9: refusing a reserved id with GROUP_MAX_SIZE_REACHED (81) ends the join phase if all others are parked
    refused_reservation_ends_phase: bool = False
    scala_vote_order: bool = False  # 3.9: Scala's hash order decides ties of the protocol vote
    scala_member_order: bool = False  # 3.9: the leader's member list, DescribeGroups and the next leader follow Scala's hash order

    assignor_change_computes_nothing: bool = False  # 4.3 3.9: another preferred assignor of a consumer group raises no group epoch
    # 4.3 3.9: the assignment epoch of a consumer group whose last member left stays behind its group epoch
    emptied_group_keeps_assignment_epoch: bool = False
    # 4.3: partitions that a topic of a share group gets begin as the reset setting says, not at 0
    added_share_partitions_reset: bool = False
    # 4.3 3.9: embedded metadata with a false count or length gets UNKNOWN_SERVER_ERROR (-1) where consumer groups read it, not 23 or 69
    malformed_metadata_fails: bool = False
    full_group_refuses_known_instances: bool = False  # 4.3 3.9: a full consumer group refuses a static member that returns with another id
    former_instance_ids_stay: bool = False  # 4.3 3.9: a member of a consumer group that changed its instance id keeps the former one, too
    # 4.3 3.9: a static member that returns with another id has no target before the computation, so that an equal one is stored again
    replacement_has_no_target: bool = False
    # 4.3: the assignor of streams groups begins with the last targets, not with what members have
    streams_assignor_reads_targets: bool = False
    # 4.3: a member of a streams group gives up one role of a task before it gets the other one
    streams_roles_change_in_turn: bool = False
    # 4.3: members of streams groups cannot be static or report offsets of tasks
    streams_fields_not_served: bool = False
    # 4.3: another endpoint of a member of a streams group tells nobody, and partitions of endpoints need not exist
    streams_endpoints_follow_tasks: bool = False
    # 4.3: an unknown topic in a share session fails the whole ShareFetch, and fenced writes of share states have another text
    unknown_share_topic_fails_fetch: bool = False
    # 4.3 3.9: JoinGroup to a consumer group ignores that group.consumer.migration.policy is disabled (4.3.1 refuses it)
    disabled_migration_admits_classic_members: bool = False

    # 3.9: the replacement of a static member that had no answer yet may expire while its JoinGroup is parked
    replacement_stays_new: bool = False
    # 3.9: a static member that returns to a Stable group is answered before the group record is written
    replacement_answered_at_once: bool = False
    leaves_one_by_one: bool = False  # 3.9: the group reacts after each entry of a LeaveGroup, so that one entry may end a join phase
    leaving_reservation_starts_nothing: bool = False  # 3.9: a LeaveGroup of a reserved member id starts no rebalance

    empty_group_not_recorded: bool = False  # 3.9: a group that only has reserved member ids is not in the log
    refused_join_echoes_id: bool = False  # 3.9: a JoinGroup refused with error 14 or 16 (loading, not coordinator) echoes the member id
    sync_while_loading_rebalances: bool = False  # 3.9: SyncGroup while the group is loading gets REBALANCE_IN_PROGRESS (27), not error 14
    # 3.9: ListGroups while groups are loading lists the groups loaded so far, besides error 14
    list_while_loading_shows_groups: bool = False

    # 3.9: OffsetCommit v9 with a generation to an unknown group gets ILLEGAL_GENERATION (22), not GROUP_ID_NOT_FOUND (69)
    commit_to_unknown_group_is_illegal_generation: bool = False
    duplicates_answered_once: bool = False  # 3.9: OffsetCommit and OffsetFetch answer each partition once, in the order of Scala's maps
    # 3.9: a commit above message.max.bytes gets INVALID_COMMIT_OFFSET_SIZE (28), not UNKNOWN_SERVER_ERROR (-1)
    large_commit_invalid_size: bool = False
    # 3.9: the answer to OffsetFetch v1 has no topics and no error code when the group has an error
    fetch_v1_hides_group_errors: bool = False
    fetch_without_groups_hangs: bool = False  # 3.9: OffsetFetch v8 or later without groups is never answered
    last_offset_deletes_group: bool = False  # 3.9: OffsetDelete of the last offset of an Empty group deletes the group
    deleted_topic_ends_idle_groups: bool = False  # 3.9: the deletion of any topic deletes every Empty group without offsets

    assignment_described_in_stable_only: bool = False  # 3.9: DescribeGroups shows assignments in state Stable only
    state_filter_keeps_blanks: bool = False  # 3.9: ListGroups does not trim states, so that the filter " Stable " matches no group
    groups_listed_from_one_map: bool = False  # 3.9: ListGroups lists a node's groups from one map, not from one map per offsets partition
    groups_answered_as_asked: bool = False  # 3.9: DescribeGroups answers in the order of the request, not by offsets partition
    first_request_without_sasl_closes_late: bool = False  # 3.9: a request before the SASL handshake is closed after the pause of a failure
    # 3.9: groups have no configs (resource type 32), and all authorized operations of a group are 328, not 3400
    no_group_configs: bool = False
    # 3.9: FindCoordinator v6 answers COORDINATOR_NOT_AVAILABLE (15) to every share key (key type 2)
    share_coordinator_unchecked: bool = False

    # 3.9: ListOffsets answers row by row in the order of the request, even for partitions that are listed twice
    list_offsets_in_order: bool = False
    produce_by_name_only: bool = False  # 3.9: the rows of a Produce answer are ordered by topic name only, later by topic id as well
    metadata_rows_in_a_set: bool = False  # 3.9: Metadata lists the partitions of a topic in the order of a hash set of rows
    failed_fetch_without_records: bool = False  # 3.9: a Fetch that failed as a whole has rows with null records
    min_insync_replicas_pinned: bool = False  # 4.4 4.3: eligible leader replicas make min.insync.replicas=1 a config of the cluster
    no_cordoned_log_dirs: bool = False  # 3.9: the error text for too large a replication factor mentions brokers only
    topic_configs_before_4: bool = False  # 3.9: topics have old configs such as message.format.version, and segments may be tiny
    configs_before_4_4: bool = False  # 4.3: groups and brokers have fewer configs, and refusals name the config of a bound, not its value
    missing_topics_in_a_scala_set: bool = False  # 4.3 3.9: Metadata lists topics that do not exist in the order of a Scala set
    repeated_alteration_unanswered: bool = False  # 4.4 4.3: AlterConfigs with a resource listed twice is never answered
    # 3.9: UpdateFeatures refuses features one by one and with other texts, while later releases update all or none
    features_updated_one_by_one: bool = False
    # 3.9: TxnOffsetCommit with a generation to an unknown group gets UNKNOWN_MEMBER_ID (25), not ILLEGAL_GENERATION (22)
    transactional_commit_to_unknown_group_is_unknown_member: bool = False
    # 3.9: after an InitProducerId, DescribeTransactions still shows the start time of the former transaction
    start_of_transaction_stays: bool = False
    # 3.9: InitProducerId of a producer that an abort fenced gets PRODUCER_FENCED (90), unlike since KIP-890
    fenced_epoch_forgotten: bool = False
    old_offset_values: bool = False  # 3.9: offsets that transactions commit are records of value version 3, not 4, in __consumer_offsets
    # 3.9: if DeleteRecords ends inside a batch of an open transaction, the last stable offset is the log's start
    stable_offset_within_log: bool = False
    # 3.9: a read_committed Fetch inside a batch that DeleteRecords cut is answered at once; later releases let it wait
    committed_fetch_goes_by_its_own_offset: bool = False
    # 3.9: a transactional batch is verified with its coordinator before its epoch is checked against the log
    coordinator_asked_first: bool = False
    # 3.9: a batch is not verified with its coordinator while the producer has an open transaction of any epoch
    any_epoch_is_amid_its_transaction: bool = False
    refused_commit_drops_pending: bool = False  # 3.9: a refused TxnOffsetCommit also drops the pending offset of the partition
    described_partitions_in_a_scala_set: bool = False  # 3.9: DescribeTransactions lists partitions in the order of Scala's hash set
    refused_transactional_commit_makes_group: bool = False  # 3.9: a refused TxnOffsetCommit to an unknown group creates an Empty group
    # 3.9: AddPartitionsToTxn and AddOffsetsToTxn check producer id and epoch (errors 49, 90) before a pending end (51)
    producer_checked_before_busy: bool = False
    broker_name_checked_before_rights: bool = False  # 3.9: IncrementalAlterConfigs refuses another broker's id (42) before a right (31)
    # 3.9: DescribeTopicPartitions sorts the topics that it refuses before they come into a hash set
    refused_topics_sorted: bool = False
    acl_host_unchecked: bool = False  # 4.3 3.9: CreateAcls accepts an empty host, which no address matches
    # 4.4 4.3: Produce v0 to v2 are advertised, because librdkafka looks for them, but close the connection
    old_produce_closes: bool = False


class Settings(ShareSettings, frozen=True, kw_only=True):
    """The settings of a broker that the core may read. Defaults are groupmock's own profile: Kafka's, but quick to start."""

    group_min_session_timeout_ms: Annotated[
        int, setting("group.min.session.timeout.ms", "smallest session timeout a member may ask for", 0)
    ] = 100
    group_max_session_timeout_ms: Annotated[
        int, setting("group.max.session.timeout.ms", "largest session timeout a member may ask for", 0)
    ] = 1_800_000
    group_initial_rebalance_delay_ms: Annotated[
        int, setting("group.initial.rebalance.delay.ms", "how long the first rebalance of an empty group waits for more members", 0)
    ] = 100
    group_max_size: Annotated[int, setting("group.max.size", "most members one group may have", 1)] = INT_MAX
    group_coordinator_rebalance_protocols: Annotated[
        str,
        setting(
            "group.coordinator.rebalance.protocols",
            "which group protocols are served, besides that of share groups, which are not: with `consumer` those of KIP-848 "
            "(deprecated since Kafka 4.4 by KIP-1237, gone in 5.0)",
        ),
    ] = "classic,consumer,streams"
    group_consumer_session_timeout_ms: Annotated[
        int, setting("group.consumer.session.timeout.ms", "how long a member of a consumer group may be silent before it is removed", 1)
    ] = 45_000
    group_consumer_heartbeat_interval_ms: Annotated[
        int, setting("group.consumer.heartbeat.interval.ms", "how often members of consumer groups are told to send heartbeats", 1)
    ] = 5_000
    group_consumer_min_session_timeout_ms: Annotated[
        int, setting("group.consumer.min.session.timeout.ms", "shortest session timeout that one consumer group may have", 1)
    ] = 45_000
    group_consumer_max_session_timeout_ms: Annotated[
        int, setting("group.consumer.max.session.timeout.ms", "longest session timeout that one consumer group may have", 1)
    ] = 60_000
    group_consumer_min_heartbeat_interval_ms: Annotated[
        int, setting("group.consumer.min.heartbeat.interval.ms", "shortest heartbeat interval that one consumer group may have", 1)
    ] = 5_000
    group_consumer_max_heartbeat_interval_ms: Annotated[
        int, setting("group.consumer.max.heartbeat.interval.ms", "longest heartbeat interval that one consumer group may have", 1)
    ] = 15_000
    group_consumer_assignment_interval_ms: Annotated[
        int, setting("group.consumer.assignment.interval.ms", "how long after one target of a consumer group the next may be computed", 0)
    ] = 1_000
    group_consumer_max_size: Annotated[int, setting("group.consumer.max.size", "most members one consumer group may have", 1)] = INT_MAX
    group_consumer_assignors: Annotated[
        str, setting("group.consumer.assignors", "assignors of consumer groups; groups that name none use the first: uniform, range")
    ] = "uniform,range"
    group_consumer_migration_policy: Annotated[
        str,
        setting(
            "group.consumer.migration.policy",
            "whether a classic group with members may become a consumer group (upgrade), and a consumer group a classic one (downgrade)",
            choices=("bidirectional", "upgrade", "downgrade", "disabled"),
        ),
    ] = "bidirectional"
    group_consumer_regex_refresh_interval_ms: Annotated[
        int,
        setting("group.consumer.regex.refresh.interval.ms", "how long the matches of a regular expression are valid", 10_000),
    ] = 600_000
    offset_metadata_max_bytes: Annotated[
        int, setting("offset.metadata.max.bytes", "longest metadata of one commit, in UTF-16 units", 0)
    ] = 4096
    offsets_retention_minutes: Annotated[int, setting("offsets.retention.minutes", "how long offsets outlive their group or commit", 1)] = (
        10080
    )
    offsets_retention_check_interval_ms: Annotated[
        int, setting("offsets.retention.check.interval.ms", "how often expired offsets and empty groups are removed", 1)
    ] = 600_000
    offsets_topic_num_partitions: Annotated[
        int, setting("offsets.topic.num.partitions", "partitions of __consumer_offsets: groups are placed by hash", 1)
    ] = 50
    num_partitions: Annotated[int, setting("num.partitions", "partitions of an auto-created topic", 1)] = 1
    default_replication_factor: Annotated[int, setting("default.replication.factor", "replicas of an auto-created topic", 1)] = 1
    auto_create_topics_enable: Annotated[bool, setting("auto.create.topics.enable", "create a topic that a client asks for")] = True
    message_max_bytes: Annotated[int, setting("message.max.bytes", "largest record batch that a topic accepts", 0)] = 1_048_588
    log_retention_bytes: Annotated[
        int,
        setting(
            "log.retention.bytes",
            "bytes kept per partition, the bound of memory (-1: all, as in the profiles of Kafka's releases); the oldest batches go first",
            -1,
            LONG_MAX,
        ),
    ] = 64 * 1024 * 1024
    log_retention_ms: Annotated[
        int,
        setting("log.retention.ms", "how old records may be before their segment is deleted (-1: any age)", -1, LONG_MAX),
    ] = 604_800_000
    log_retention_check_interval_ms: Annotated[
        int, setting("log.retention.check.interval.ms", "how often the broker looks for segments that are too old", 1)
    ] = 300_000
    replica_selector_class: Annotated[
        str,
        setting(
            "replica.selector.class",
            "class that selects the replica for a consumer's fetches (KIP-392); empty: always the leader",
            choices=(
                "",
                "org.apache.kafka.common.replica.LeaderSelector",
                "org.apache.kafka.common.replica.RackAwareReplicaSelector",
            ),
        ),
    ] = ""
    fetch_max_bytes: Annotated[int, setting("fetch.max.bytes", "most bytes of one fetch answer", 1024)] = 57_671_680
    max_incremental_fetch_session_cache_slots: Annotated[
        int, setting("max.incremental.fetch.session.cache.slots", "most incremental fetch sessions kept", 0)
    ] = 1000
    log_message_timestamp_type: Annotated[
        str,
        setting(
            "log.message.timestamp.type",
            "the clock of record timestamps: CreateTime (the producer's) or LogAppendTime (the broker's)",
            choices=("CreateTime", "LogAppendTime"),
        ),
    ] = "CreateTime"
    log_message_timestamp_before_max_ms: Annotated[
        int, setting("log.message.timestamp.before.max.ms", "how far a record's timestamp may lie in the past", 0, LONG_MAX)
    ] = LONG_MAX
    log_message_timestamp_after_max_ms: Annotated[
        int, setting("log.message.timestamp.after.max.ms", "how far a record's timestamp may lie in the future", 0, LONG_MAX)
    ] = 3_600_000
    producer_id_expiration_ms: Annotated[
        int, setting("producer.id.expiration.ms", "how long a partition remembers an idempotent producer without writes", 1)
    ] = 86_400_000
    producer_id_expiration_check_interval_ms: Annotated[
        int,
        setting(
            "producer.id.expiration.check.interval.ms",
            "how long after the last time a partition may next forget producers that are too old; it does so when it is written to",
            1,
        ),
    ] = 600_000
    transactions_enable: Annotated[
        bool,
        setting(
            "groupmock.transactions.enable",
            "serve transactional producers; false: their ids are refused (53), as by a broker that forbids transactional writes",
        ),
    ] = True
    transaction_version: Annotated[
        int,
        setting(
            "groupmock.transaction.version",
            "level of the feature transaction.version at the start of a cluster, if its release has the feature (4.3): "
            "2: clients use the new protocol (KIP-890); 1 or 0: as in a cluster that was upgraded without it",
            0,
            2,
        ),
    ] = 2
    transaction_markers_delay_ms: Annotated[
        int,
        setting(
            "groupmock.transaction.markers.delay.ms",
            "delay between the decision about a transaction's end and its markers; producers that go on meanwhile get 51",
            0,
        ),
    ] = 0
    transaction_max_timeout_ms: Annotated[
        int, setting("transaction.max.timeout.ms", "longest transaction timeout that a producer may ask for", 1)
    ] = 900_000
    transaction_abort_cleanup_interval_ms: Annotated[
        int,
        setting(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms", "how often transactions beyond their timeout are aborted", 1
        ),
    ] = 10_000
    transactional_id_expiration_ms: Annotated[
        int, setting("transactional.id.expiration.ms", "how long an unused transactional id is remembered", 1)
    ] = 604_800_000
    transactional_id_cleanup_interval_ms: Annotated[
        int,
        setting("transaction.remove.expired.transaction.cleanup.interval.ms", "how often the broker looks for unused transactional ids", 1),
    ] = 3_600_000
    transaction_partition_verification_enable: Annotated[
        bool,
        setting(
            "transaction.partition.verification.enable",
            "accept a transactional batch only in a partition that was added to its transaction (KIP-890)",
        ),
    ] = True
    fetch_answer_max_bytes: Annotated[
        int,
        setting(
            "groupmock.fetch.answer.max.bytes",
            "most bytes of records in one fetch answer, even if fetch.max.bytes allows more: an answer is in memory three times",
            1024,
        ),
    ] = 8_388_608
    request_max_decompressed_bytes: Annotated[
        int,
        setting(
            "groupmock.request.max.decompressed.bytes",
            "most bytes to which one request's records may be unpacked; a Produce with more gets 10 (MESSAGE_TOO_LARGE)",
            1,
        ),
    ] = 8_388_608
    compression_open: Annotated[
        bool,
        setting(
            "groupmock.compression.open",
            "unpack records compressed by snappy, lz4 or zstd where Kafka does (keys, times, counts); the default is true if "
            "groupmock[compression] is installed",
        ),
    ] = False
    request_max_records: Annotated[
        int,
        setting(
            "groupmock.request.max.records",
            f"most records that are read for one request; one that is decoded (times, keys) counts {OPENED} times, "
            f"one of the formats before Kafka 0.11 {CONVERTED} times",
            CONVERTED,
        ),
    ] = 100_000
    request_max_work: Annotated[
        int,
        setting(
            "groupmock.request.max.work",
            "most work that one request may cause, in units of about a microsecond; more is refused, or closes the connection",
            1,
        ),
    ] = 50_000
    answer_max_bytes: Annotated[
        int,
        setting(
            "groupmock.answer.max.bytes",
            "most bytes of stored names, metadata and assignments in one answer; more closes the connection (records: fetch.max.bytes)",
            1,
        ),
    ] = 8 * 1024 * 1024
    member_max_protocols: Annotated[
        int, setting("groupmock.member.max.protocols", "most protocols that one member may list; more close its connection", 1)
    ] = 100
    group_max_bytes: Annotated[
        int, setting("groupmock.group.max.bytes", "most bytes of metadata of all members of one group; more close the connection", 65_536)
    ] = 16 * 1024 * 1024
    cluster_max_partitions: Annotated[
        int, setting("groupmock.cluster.max.partitions", "most partitions of all topics together; further ones are refused (44)", 1)
    ] = 12_000
    cluster_max_transactional_ids: Annotated[
        int,
        setting("groupmock.cluster.max.transactional.ids", "most transactional ids that are remembered; further ones are refused (53)", 1),
    ] = 10_000
    cluster_max_transaction_partitions: Annotated[
        int,
        setting(
            "groupmock.cluster.max.transaction.partitions",
            "most partitions of all transactions that are open or without markers; further ones are refused (44)",
            1,
        ),
    ] = 25_000
    transaction_max_partitions: Annotated[
        int,
        setting("groupmock.transaction.max.partitions", "most partitions that one transaction may have; further ones are refused (44)", 1),
    ] = 1_000
    authorizer_class_name: Annotated[
        str,
        setting(
            "authorizer.class.name",
            "class of the authorizer that decides what principals may do by ACLs; empty: everybody may do everything",
            choices=("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ),
    ] = ""
    super_users: Annotated[
        str, setting("super.users", "principals that may do everything, separated by semicolons: User:admin;User:root")
    ] = ""
    allow_everyone_if_no_acl_found: Annotated[
        bool,
        setting("allow.everyone.if.no.acl.found", "with an authorizer, allow everything on resources that no ACL covers"),
    ] = False
    quirks: Quirks = Quirks()

    def room(self) -> Room:
        from groupmock_codec.room import Room  # A server listens before it reads records.

        return Room(self.request_max_decompressed_bytes, self.request_max_records, self.compression_open)


@lru_cache(maxsize=16)
def listed(text: str) -> tuple[str, ...]:
    """Split the value of a list setting at its commas. The result is cached, because every heartbeat of a consumer asks."""
    return tuple([each.strip() for each in text.split(",")])


def super_users_of(text: str) -> list[str]:
    """Split the value of `super.users`, which separates principals with semicolons."""
    return [each.strip() for each in text.split(";") if each.strip()]
