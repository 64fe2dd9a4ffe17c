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
        8: (0, 8),  # OffsetCommit
        9: (0, 7),  # OffsetFetch
        10: (0, 3),  # FindCoordinator
        11: (0, 7),  # JoinGroup
        12: (0, 4),  # Heartbeat
        13: (0, 4),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 5),  # DescribeGroups
        16: (0, 4),  # ListGroups
        18: (0, 3),  # ApiVersions
        19: (0, 7),  # CreateTopics
        20: (0, 6),  # DeleteTopics
        21: (0, 2),  # DeleteRecords
        22: (0, 4),  # InitProducerId
        23: (0, 4),  # OffsetForLeaderEpoch
        24: (0, 3),  # AddPartitionsToTxn
        25: (0, 3),  # AddOffsetsToTxn
        26: (0, 3),  # EndTxn
        28: (0, 3),  # TxnOffsetCommit
        32: (0, 4),  # DescribeConfigs
        33: (0, 2),  # AlterConfigs
        37: (0, 3),  # CreatePartitions
        42: (0, 2),  # DeleteGroups
        44: (0, 1),  # IncrementalAlterConfigs
        47: (0, 0),  # OffsetDelete
        60: (0, 0),  # DescribeCluster
    },
    settings={
        **KAFKA_DEFAULTS,
        "log.message.timestamp.after.max.ms": 2**63 - 1,
        "producer.id.expiration.ms": 604_800_000,  # 2.8 has one time for producers and transactional ids (KIP-854 parted them)
    },
    quirks=frozenset(
        {
            "malformed_subscription_hangs",
            "group_record_limit",
            "failing_join_unanswered",
            "new_member_at_generation_zero",
            "expiry_keeps_initial_delay",
            "sync_renews_session",
            "sync_before_first_generation_inconsistent",
            "refused_member_ends_phase",
            "refusal_keeps_reservation",
            "scala_vote_order",
            "scala_member_order",
            "rejoin_keeps_timeouts",
            "empty_protocol_name_kept",
            "null_client_id_prefix",
            "unmapped_instance_ignored",
            "replacement_stays_new",
            "replacement_answered_at_once",
            "replacement_takes_over_debts",
            "reserved_id_with_instance_fails_leave",
            "leaves_one_by_one",
            "leaving_reservation_starts_nothing",
            "empty_group_not_recorded",
            "refused_join_echoes_id",
            "sync_while_loading_rebalances",
            "list_while_loading_shows_groups",
            "duplicates_answered_once",
            "refused_commits_in_place",
            "large_commit_invalid_size",
            "refused_commit_lingers",
            "zookeeper_offsets",
            "last_offset_deletes_group",
            "assignment_described_in_stable_only",
            "state_filter_keeps_blanks",
            "state_filter_minds_case",
            "groups_listed_from_one_map",
            "groups_answered_as_asked",
            "no_group_configs",
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
