"""The consumer's side of Kafka: the broker probe, the cooperative assignors, the scenarios, the simulation and the pytest plug-in."""
