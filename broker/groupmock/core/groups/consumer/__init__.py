"""The consumer group (KIP-848): an assignor in the coordinator, heartbeats that reconcile."""
