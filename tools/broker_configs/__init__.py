"""The broker configs of each Kafka release, recorded by `python -m tools.broker_configs`."""
