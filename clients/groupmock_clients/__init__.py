"""What runs on the consumer's side: the probe, the cooperative assignors, the demo, the pytest plug-in."""
