"""Consumer groups (KIP-848): the coordinator assigns, and heartbeats tell members which partitions to revoke and which they may have."""
