"""Settings as keyword arguments of `Broker`. Written by tools/pages/setting_keywords_page.py (`make docs`): do not edit."""

from __future__ import annotations

from typing import Literal, TypedDict


class SettingKeywords(TypedDict, total=False):
    """Kafka's name with underscores for dots, without a leading `groupmock.`: `group_max_size=3`. docs/reference/settings.md has defaults
    and bounds."""

    group_streams_session_timeout_ms: int
    group_streams_heartbeat_interval_ms: int
    group_streams_assignment_interval_ms: int
    group_streams_initial_rebalance_delay_ms: int
    group_streams_num_standby_replicas: int
    group_streams_topology_description_plugin_class: str
    group_streams_max_size: int
    group_share_session_timeout_ms: int
    group_share_heartbeat_interval_ms: int
    group_share_assignment_interval_ms: int
    group_share_max_size: int
    group_share_record_lock_duration_ms: int
    group_share_delivery_count_limit: int
    group_share_partition_max_record_locks: int
    group_share_max_share_sessions: int
    errors_deadletterqueue_auto_create_topics_enable: bool
    errors_deadletterqueue_topic_name_prefix: str
    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_initial_rebalance_delay_ms: int
    group_max_size: int
    group_coordinator_rebalance_protocols: str
    group_consumer_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_min_session_timeout_ms: int
    group_consumer_max_session_timeout_ms: int
    group_consumer_min_heartbeat_interval_ms: int
    group_consumer_max_heartbeat_interval_ms: int
    group_consumer_assignment_interval_ms: int
    group_consumer_max_size: int
    group_consumer_assignors: str
    group_consumer_migration_policy: Literal["bidirectional", "upgrade", "downgrade", "disabled"]
    group_consumer_regex_refresh_interval_ms: int
    offset_metadata_max_bytes: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    offsets_topic_num_partitions: int
    num_partitions: int
    default_replication_factor: int
    auto_create_topics_enable: bool
    message_max_bytes: int
    log_retention_bytes: int
    log_retention_ms: int
    log_retention_check_interval_ms: int
    replica_selector_class: Literal[
        "", "org.apache.kafka.common.replica.LeaderSelector", "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    ]
    fetch_max_bytes: int
    max_incremental_fetch_session_cache_slots: int
    log_message_timestamp_type: Literal["CreateTime", "LogAppendTime"]
    log_message_timestamp_before_max_ms: int
    log_message_timestamp_after_max_ms: int
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    transactions_enable: bool
    transaction_version: int
    transaction_markers_delay_ms: int
    transaction_max_timeout_ms: int
    transaction_abort_cleanup_interval_ms: int
    transactional_id_expiration_ms: int
    transactional_id_cleanup_interval_ms: int
    transaction_partition_verification_enable: bool
    fetch_answer_max_bytes: int
    request_max_decompressed_bytes: int
    compression_open: bool
    request_max_records: int
    request_max_work: int
    answer_max_bytes: int
    member_max_protocols: int
    group_max_bytes: int
    cluster_max_partitions: int
    cluster_max_transactional_ids: int
    cluster_max_transaction_partitions: int
    transaction_max_partitions: int
    authorizer_class_name: Literal["", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"]
    super_users: str
    allow_everyone_if_no_acl_found: bool
    socket_request_max_bytes: int
    queued_max_request_bytes: int
    max_connections: int
    connections_max_idle_ms: int
    connection_read_ahead_bytes: int
    connection_write_buffer_bytes: int
    requests_slice_us: int
    request_max_elements: int
    work_slice_us: int
    replies_slice_us: int
    sasl_enabled_mechanisms: str
    connections_max_reauth_ms: int
    connection_failed_authentication_delay_ms: int
    sasl_server_max_receive_size: int
    ssl_client_auth: Literal["none", "requested", "required"]
    ssl_enabled_protocols: str
    ssl_principal_mapping_rules: str
    sasl_oauthbearer_jwks_endpoint_url: str
    sasl_oauthbearer_expected_audience: str
    sasl_oauthbearer_allow_unverified_audience: bool
    sasl_oauthbearer_expected_issuer: str
    sasl_oauthbearer_allow_unverified_issuer: bool
    sasl_oauthbearer_clock_skew_seconds: int
    sasl_oauthbearer_scope_claim_name: str
    sasl_oauthbearer_sub_claim_name: str
