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
        8: (0, 9),  # OffsetCommit; version 0 is offered, and refused by UNSUPPORTED_VERSION (35) for each partition (P2-c15)
        9: (0, 9),  # OffsetFetch
        10: (0, 6),  # FindCoordinator
        11: (0, 9),  # JoinGroup
        12: (0, 4),  # Heartbeat
        13: (0, 5),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 5),  # DescribeGroups
        16: (0, 5),  # ListGroups
        17: (0, 1),  # SaslHandshake; refused, because every listener is PLAINTEXT
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
        36: (0, 2),  # SaslAuthenticate; refused, because every listener is PLAINTEXT
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
        51: (0, 0),  # AlterUserScramCredentials
        55: (0, 2),  # DescribeQuorum
        57: (0, 1),  # UpdateFeatures
        60: (0, 1),  # DescribeCluster
        61: (0, 0),  # DescribeProducers
        65: (0, 0),  # DescribeTransactions
        66: (0, 1),  # ListTransactions
        68: (0, 0),  # ConsumerGroupHeartbeat; answered UNSUPPORTED_VERSION (35) with default settings (P1-c10)
        69: (0, 0),  # ConsumerGroupDescribe
        74: (0, 0),  # ListConfigResources, which was called ListClientMetricsResources
        75: (0, 0),  # DescribeTopicPartitions
    },
    settings={
        **KAFKA_DEFAULTS,
        "log.message.timestamp.after.max.ms": 2**63 - 1,
        "group.share.partition.max.record.locks": 200,
        "group.consumer.migration.policy": "disabled",
        "group.coordinator.rebalance.protocols": "classic",  # Consumer groups were early access and switched off.
        "group.consumer.assignors": ",".join(
            f"org.apache.kafka.coordinator.group.assignor.{name}Assignor" for name in ("Uniform", "Range")
        ),
    },
    # `core.settings.Quirks` describes each quirk, and docs/kafka/releases.md says what was seen on brokers.
    quirks=frozenset(
        {
            "malformed_subscription_hangs",
            "doubled_protocol_hangs",
            "acl_host_unchecked",
            "broker_name_checked_before_rights",
            "refused_topics_sorted",
            "assignor_change_computes_nothing",
            "emptied_group_keeps_assignment_epoch",
            "malformed_metadata_fails",
            "full_group_refuses_known_instances",
            "former_instance_ids_stay",
            "replacement_has_no_target",
            "disabled_migration_admits_classic_members",
            "group_record_limit",
            "missing_topics_in_a_scala_set",
            "failing_join_unanswered",
            "new_member_at_generation_zero",
            "expiry_keeps_initial_delay",
            "sync_renews_session",
            "sync_before_first_generation_inconsistent",
            "refused_member_ends_phase",
            "refused_reservation_ends_phase",
            "failing_phase_replaces_refusal",
            "scala_vote_order",
            "scala_member_order",
            "leaves_one_by_one",
            "leaving_reservation_starts_nothing",
            "empty_group_not_recorded",
            "refused_join_echoes_id",
            "sync_while_loading_rebalances",
            "list_while_loading_shows_groups",
            "commit_to_unknown_group_is_illegal_generation",
            "duplicates_answered_once",
            "replacement_stays_new",
            "replacement_answered_at_once",
            "large_commit_invalid_size",
            "fetch_v1_hides_group_errors",
            "fetch_without_groups_hangs",
            "last_offset_deletes_group",
            "deleted_topic_ends_idle_groups",
            "assignment_described_in_stable_only",
            "state_filter_keeps_blanks",
            "groups_listed_from_one_map",
            "groups_answered_as_asked",
            "first_request_without_sasl_closes_late",
            "no_group_configs",
            "share_coordinator_unchecked",
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
            "any_epoch_is_amid_its_transaction",
            "refused_commit_drops_pending",
            "described_partitions_in_a_scala_set",
            "refused_transactional_commit_makes_group",
            "producer_checked_before_busy",
            "old_offset_values",
        }
    ),
    features=(FeatureLevel("metadata.version", 1, 21, 21), FeatureLevel("kraft.version", 0, 1, None)),
    finalized_features_epoch=8,
)
