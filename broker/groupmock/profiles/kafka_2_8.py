"""Apache Kafka 2.8.2, ZooKeeper based, the old Scala coordinator: rows as a running broker answered them.

APIs without a behaviour here are cut when advertised.
"""

from __future__ import annotations

from . import KAFKA_DEFAULTS, Profile

PROFILE = Profile(
    name="kafka-2.8",
    about="Apache Kafka 2.8.2, ZooKeeper based, the old Scala coordinator.",
    versions={
        0: (0, 9),  # Produce
        1: (0, 12),  # Fetch
        2: (0, 6),  # ListOffsets
        3: (0, 11),  # Metadata
        8: (0, 8),  # OffsetCommit; v0 goes to ZooKeeper, as does OffsetFetch v0 (P2-c22)
        9: (0, 7),  # OffsetFetch
        10: (0, 3),  # FindCoordinator
        11: (0, 7),  # JoinGroup
        12: (0, 4),  # Heartbeat
        13: (0, 4),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 5),  # DescribeGroups
        16: (0, 4),  # ListGroups
        17: (0, 1),  # SaslHandshake; refused, as every listener is PLAINTEXT
        18: (0, 3),  # ApiVersions; so v4, which newer clients send first, is answered 35 in version 0 (P2-d12)
        19: (0, 7),  # CreateTopics
        20: (0, 6),  # DeleteTopics
        21: (0, 2),  # DeleteRecords
        22: (0, 4),  # InitProducerId
        23: (0, 4),  # OffsetForLeaderEpoch
        24: (0, 3),  # AddPartitionsToTxn
        25: (0, 3),  # AddOffsetsToTxn
        26: (0, 3),  # EndTxn
        27: (0, 1),  # WriteTxnMarkers
        28: (0, 3),  # TxnOffsetCommit
        29: (0, 2),  # DescribeAcls
        30: (0, 2),  # CreateAcls
        31: (0, 2),  # DeleteAcls
        32: (0, 4),  # DescribeConfigs
        33: (0, 2),  # AlterConfigs
        34: (0, 2),  # AlterReplicaLogDirs
        35: (0, 2),  # DescribeLogDirs
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
        57: (0, 0),  # UpdateFeatures
        60: (0, 0),  # DescribeCluster
        61: (0, 0),  # DescribeProducers
    },
    settings={
        **KAFKA_DEFAULTS,
        "log.message.timestamp.after.max.ms": 2**63 - 1,
        "transaction.partition.verification.enable": False,  # that came with KIP-890
        "producer.id.expiration.ms": 604_800_000,  # 2.8 has one time for producers and transactional ids (KIP-854 parted them)
    },
    quirks=frozenset(
        {
            "stable_offset_within_log",
            "committed_fetch_waits_beyond_stable",
            "several_producers_taken",  # TX-69
            "refused_commit_drops_pending",  # TX-71
            "refused_transactional_commit_makes_group",
            "transactional_commit_to_unknown_group_is_unknown_member",
            "lax_transactional_commits",
            "fenced_epoch_forgotten",
            "old_offset_values",
            "producer_checked_before_busy",
            "producers_in_scala_maps",
            "no_text_for_unknown_producers",
            "added_partitions_answered_by_hash",
            "malformed_subscription_hangs",  # P1-b5, P1-b6
            "group_record_limit",  # docs/kafka/differences.md#groups, S-leader-failure
            "failing_join_unanswered",  # P1-b5
            "new_member_at_generation_zero",  # P1-c1
            "expiry_keeps_initial_delay",  # P1-c2
            "sync_renews_session",  # P1-c3
            "sync_before_first_generation_inconsistent",  # P1-c5
            "refused_member_ends_phase",  # P1-c6
            "refusal_keeps_reservation",
            "scala_vote_order",  # P1-c9
            "scala_member_order",  # P1-c8
            "rejoin_keeps_timeouts",  # P1-c14
            "empty_protocol_name_kept",  # P1-c17
            "null_client_id_prefix",  # P1-c17, P2-c23
            "unmapped_instance_ignored",  # P1-c12, P2-c17
            "replacement_stays_new",  # docs/kafka/differences.md#groups
            "replacement_answered_at_once",  # P1-d9
            "replacement_takes_over_debts",  # P1-c15
            "reserved_id_with_instance_fails_leave",  # P1-c13, P2-c18
            "leaves_one_by_one",  # docs/kafka/releases.md#the-old-coordinator-against-the-new-one
            "leaving_reservation_starts_nothing",  # P2-b5, P2-c10
            "empty_group_not_recorded",  # P1-c4
            "refused_join_echoes_id",  # P2-c3
            "sync_while_loading_rebalances",  # P2-c1
            "list_while_loading_shows_groups",  # P2-c2
            "duplicates_answered_once",  # P2-c13
            "refused_commits_in_place",  # P2-c24
            "large_commit_invalid_size",  # docs/kafka/differences.md#groups, C-too-large
            "refused_commit_lingers",  # KAFKA-16371
            "zookeeper_offsets",  # P2-c22
            "last_offset_deletes_group",  # P2-c11
            "deleted_topic_ends_idle_groups",  # TX-77
            "assignment_described_in_stable_only",  # P2-c8
            "state_filter_keeps_blanks",  # P2-c9
            "state_filter_minds_case",  # P2-c19
            "groups_listed_from_one_map",
            "groups_answered_as_asked",  # docs/kafka/differences.md#groups
            "no_group_configs",  # P2-c14
            "auto_creation_answers_leader_not_available",
            "controller_only",
            "negative_timestamps_are_times",
            "append_time_bit_refused",
            "null_records_refused",
            "list_offsets_in_order",
            "produce_by_name_only",
            "produce_rows_by_hash",
            "metadata_rows_in_a_map",
            "one_session_cache",
            "answered_partitions_go_last",
            "preferred_replica_waits",
            "any_number_of_partitions",
            "no_cordoned_log_dirs",
            "min_insync_replicas_uncapped",
            "zookeeper_admin",
            "repeated_alteration_unanswered",
            "short_batches_refused_alone",
            "topic_configs_before_4",
            "topic_configs_before_3",
            "failed_fetch_without_lists",
        }
    ),
    features=(),
    finalized_features_epoch=0,
)
