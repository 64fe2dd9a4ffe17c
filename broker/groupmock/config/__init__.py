"""The configuration of a cluster consists of a profile, groupmock's options and Kafka's settings, each value with its origin."""
