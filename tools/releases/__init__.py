"""Measures on jars and running brokers what a new release of Apache Kafka changes (`python -m tools.releases VERSION`)."""
