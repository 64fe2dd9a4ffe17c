"""What a new release of Apache Kafka changes, measured on its jars and on a running broker (`python -m tools.releases VERSION`)."""
