"""What runs on the consumer's side: scripted members, exchanges, the demo, the pytest plug-in."""
