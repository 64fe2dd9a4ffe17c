"""The configuration of a cluster: profiles, groupmock's options and Kafka's settings, each value with its origin."""
