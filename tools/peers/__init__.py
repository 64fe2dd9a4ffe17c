"""Other Kafka-like servers, judged by the probe: `python -m tools.peers`."""
