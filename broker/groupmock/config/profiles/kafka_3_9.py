"""Apache Kafka 3.9.1 with its default, the old Scala coordinator. Versions and feature levels are those that a running broker answered.

APIs without a behaviour in this project are left out of what is advertised.
"""

from __future__ import annotations

from . import KAFKA_DEFAULTS, FeatureLevel, Profile

PROFILE = Profile(
    name="kafka-3.9",
    about="Apache Kafka 3.9.1 with its default, the old Scala coordinator.",
    versions={
        0: (0, 11),  # Produce
        1: (0, 17),  # Fetch
        2: (0, 9),  # ListOffsets
        3: (0, 12),  # Metadata
        8: (0, 9),  # OffsetCommit; v0 is offered and refused: 35 per partition (P2-c15)
        9: (0, 9),  # OffsetFetch
        10: (0, 6),  # FindCoordinator
        11: (0, 9),  # JoinGroup
        12: (0, 4),  # Heartbeat
        13: (0, 5),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 5),  # DescribeGroups
        16: (0, 5),  # ListGroups
        17: (0, 1),  # SaslHandshake; refused, as every listener is PLAINTEXT
        18: (0, 4),  # ApiVersions
        19: (0, 7),  # CreateTopics
        20: (0, 6),  # DeleteTopics
        21: (0, 2),  # DeleteRecords
        22: (0, 5),  # InitProducerId
        23: (0, 4),  # OffsetForLeaderEpoch
        24: (0, 5),  # AddPartitionsToTxn
        25: (0, 4),  # AddOffsetsToTxn
        26: (0, 4),  # EndTxn
        27: (0, 1),  # WriteTxnMarkers
        28: (0, 4),  # TxnOffsetCommit
        29: (0, 3),  # DescribeAcls
        30: (0, 3),  # CreateAcls
        31: (0, 3),  # DeleteAcls
        32: (0, 4),  # DescribeConfigs
        33: (0, 2),  # AlterConfigs
        34: (0, 2),  # AlterReplicaLogDirs
        35: (0, 4),  # DescribeLogDirs
        36: (0, 2),  # SaslAuthenticate; refused
        37: (0, 3),  # CreatePartitions
        42: (0, 2),  # DeleteGroups
        43: (0, 2),  # ElectLeaders
        44: (0, 1),  # IncrementalAlterConfigs
        45: (0, 0),  # AlterPartitionReassignments
        46: (0, 0),  # ListPartitionReassignments
        47: (0, 0),  # OffsetDelete
        48: (0, 1),  # DescribeClientQuotas
        49: (0, 1),  # AlterClientQuotas
        50: (0, 0),  # DescribeUserScramCredentials
        55: (0, 2),  # DescribeQuorum
        57: (0, 1),  # UpdateFeatures
        60: (0, 1),  # DescribeCluster
        61: (0, 0),  # DescribeProducers
        65: (0, 0),  # DescribeTransactions
        66: (0, 1),  # ListTransactions
        68: (0, 0),  # ConsumerGroupHeartbeat; advertised, and answered 35 with default settings (P1-c10)
        69: (0, 0),  # ConsumerGroupDescribe
        74: (0, 0),  # ListConfigResources, then ListClientMetricsResources
        75: (0, 0),  # DescribeTopicPartitions
    },
    settings={
        **KAFKA_DEFAULTS,
        "log.message.timestamp.after.max.ms": 2**63 - 1,
        "group.consumer.migration.policy": "disabled",
        "group.coordinator.rebalance.protocols": "classic",  # consumer groups were early access, and off
        "group.consumer.assignors": ",".join(
            f"org.apache.kafka.coordinator.group.assignor.{name}Assignor" for name in ("Uniform", "Range")
        ),
    },
    quirks=frozenset(
        {
            "malformed_subscription_hangs",  # P1-b5, P1-b6
            "group_record_limit",  # docs/kafka/differences.md#groups, S-leader-failure
            "failing_join_unanswered",  # P1-b5
            "new_member_at_generation_zero",  # P1-c1
            "expiry_keeps_initial_delay",  # P1-c2
            "sync_renews_session",  # P1-c3
            "sync_before_first_generation_inconsistent",  # P1-c5
            "refused_member_ends_phase",  # P1-c6
            "refused_reservation_ends_phase",  # P1-c7
            "failing_phase_replaces_refusal",
            "scala_vote_order",  # P1-c9
            "scala_member_order",  # P1-c8
            "leaves_one_by_one",  # docs/kafka/releases.md#the-old-coordinator-against-the-new-one
            "leaving_reservation_starts_nothing",  # P2-b5, P2-c10
            "empty_group_not_recorded",  # P1-c4
            "refused_join_echoes_id",  # P2-c3
            "sync_while_loading_rebalances",  # P2-c1
            "list_while_loading_shows_groups",  # P2-c2
            "commit_to_unknown_group_is_illegal_generation",  # P2-c6
            "duplicates_answered_once",  # P2-c13
            "replacement_stays_new",  # docs/kafka/differences.md#groups
            "replacement_answered_at_once",  # P1-d9
            "large_commit_invalid_size",  # docs/kafka/differences.md#groups, C-too-large
            "fetch_v1_hides_group_errors",  # P2-c4
            "fetch_without_groups_hangs",  # P2-c5
            "last_offset_deletes_group",  # P2-c11
            "deleted_topic_ends_idle_groups",  # TX-77
            "assignment_described_in_stable_only",  # P2-c8
            "state_filter_keeps_blanks",  # P2-c9
            "groups_listed_from_one_map",
            "groups_answered_as_asked",  # docs/kafka/differences.md#groups
            "no_group_configs",  # P2-c14
            "share_coordinator_unchecked",  # P2-c14
            "list_offsets_in_order",
            "produce_by_name_only",
            "failed_fetch_without_records",
            "metadata_rows_in_a_set",
            "no_cordoned_log_dirs",
            "features_updated_one_by_one",
            "topic_configs_before_4",
            "stable_offset_within_log",
            "committed_fetch_goes_by_its_own_offset",
            "transactional_commit_to_unknown_group_is_unknown_member",
            "start_of_transaction_stays",
            "fenced_epoch_forgotten",
            "coordinator_asked_first",
            "any_epoch_is_amid_its_transaction",  # TX-69
            "refused_commit_drops_pending",  # TX-71
            "described_partitions_in_a_scala_set",  # TX-96
            "refused_transactional_commit_makes_group",
            "producer_checked_before_busy",
            "old_offset_values",
        }
    ),
    features=(FeatureLevel("metadata.version", 1, 21, 21), FeatureLevel("kraft.version", 0, 1, None)),
    finalized_features_epoch=8,
)
