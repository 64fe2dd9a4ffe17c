"""Consumer groups (KIP-848) are assigned by the coordinator, whose heartbeat answers tell each member its partitions."""
