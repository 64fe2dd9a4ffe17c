"""What the brokers of each Kafka release can be configured with, recorded: `python -m tools.broker_configs`."""
