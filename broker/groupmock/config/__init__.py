"""What can be set: profiles, options, Kafka's settings, and where each value came from."""
