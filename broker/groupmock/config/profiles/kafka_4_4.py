"""Apache Kafka 4.4.0 with its KRaft coordinator. Versions and feature levels are those that a running broker answered.

APIs without a behaviour in this project are left out of what is advertised: a client would take them for a promise.
"""

from __future__ import annotations

from . import KAFKA_DEFAULTS, FeatureLevel, Profile

PROFILE = Profile(
    name="kafka-4.4",
    about="Apache Kafka 4.4.0, its advertised versions and defaults, KRaft coordinator.",
    versions={
        0: (0, 13),  # Produce
        1: (4, 18),  # Fetch; KIP-896 removed the versions of clients before 2.1, here and wherever a range does not begin at 0
        2: (1, 11),  # ListOffsets
        3: (0, 13),  # Metadata
        8: (2, 10),  # OffsetCommit
        9: (1, 10),  # OffsetFetch
        10: (0, 6),  # FindCoordinator
        11: (0, 9),  # JoinGroup; 4.0.0 began at 2, later releases at 0 for librdkafka (KAFKA-19444, docs/kafka/apis.md#versions)
        12: (0, 4),  # Heartbeat
        13: (0, 5),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 6),  # DescribeGroups
        16: (0, 5),  # ListGroups
        17: (0, 1),  # SaslHandshake; refused, because every listener is PLAINTEXT
        18: (0, 5),  # ApiVersions
        19: (2, 7),  # CreateTopics
        20: (1, 6),  # DeleteTopics
        21: (0, 2),  # DeleteRecords
        22: (0, 5),  # InitProducerId
        23: (2, 4),  # OffsetForLeaderEpoch
        24: (0, 5),  # AddPartitionsToTxn
        25: (0, 4),  # AddOffsetsToTxn
        26: (0, 5),  # EndTxn
        27: (1, 2),  # WriteTxnMarkers
        28: (0, 6),  # TxnOffsetCommit
        29: (1, 3),  # DescribeAcls
        30: (1, 3),  # CreateAcls
        31: (1, 3),  # DeleteAcls
        32: (1, 4),  # DescribeConfigs
        33: (0, 2),  # AlterConfigs
        34: (1, 2),  # AlterReplicaLogDirs
        35: (1, 5),  # DescribeLogDirs
        36: (0, 2),  # SaslAuthenticate; refused, because every listener is PLAINTEXT
        37: (0, 3),  # CreatePartitions
        42: (0, 3),  # DeleteGroups
        43: (0, 2),  # ElectLeaders
        44: (0, 1),  # IncrementalAlterConfigs
        45: (0, 1),  # AlterPartitionReassignments
        46: (0, 0),  # ListPartitionReassignments
        47: (0, 0),  # OffsetDelete
        48: (0, 1),  # DescribeClientQuotas
        49: (0, 1),  # AlterClientQuotas
        50: (0, 0),  # DescribeUserScramCredentials
        51: (0, 0),  # AlterUserScramCredentials
        55: (0, 2),  # DescribeQuorum
        57: (0, 2),  # UpdateFeatures
        60: (0, 2),  # DescribeCluster
        61: (0, 0),  # DescribeProducers
        65: (0, 0),  # DescribeTransactions
        66: (0, 2),  # ListTransactions
        68: (0, 1),  # ConsumerGroupHeartbeat
        69: (0, 1),  # ConsumerGroupDescribe
        74: (0, 1),  # ListConfigResources
        75: (0, 0),  # DescribeTopicPartitions
        76: (1, 1),  # ShareGroupHeartbeat
        77: (1, 1),  # ShareGroupDescribe
        78: (1, 2),  # ShareFetch
        79: (1, 2),  # ShareAcknowledge
        88: (0, 1),  # StreamsGroupHeartbeat
        89: (0, 1),  # StreamsGroupDescribe
        90: (0, 1),  # DescribeShareGroupOffsets
        91: (0, 0),  # AlterShareGroupOffsets
        92: (0, 0),  # DeleteShareGroupOffsets
        93: (0, 0),  # StreamsGroupTopologyDescriptionUpdate
    },
    settings=KAFKA_DEFAULTS,
    # `core.settings.Quirks` describes each quirk, and docs/kafka/releases.md says what was seen on brokers.
    quirks=frozenset(
        {
            "doubled_protocol_hangs",
            "group_record_limit",
            "old_produce_closes",
            "repeated_alteration_unanswered",
            "min_insync_replicas_pinned",
        }
    ),
    features=(
        FeatureLevel("metadata.version", 7, 33, 33),
        FeatureLevel("kraft.version", 0, 1, None),
        FeatureLevel("transaction.version", 0, 2, 2),
        FeatureLevel("group.version", 0, 1, 1),
        FeatureLevel("eligible.leader.replicas.version", 0, 1, 1),
        FeatureLevel("share.version", 0, 2, 2),
        FeatureLevel("streams.version", 0, 1, 1),
    ),
    finalized_features_epoch=30,
)
