"""Judge other Kafka-like servers by the probe (`python -m tools.peers`)."""
