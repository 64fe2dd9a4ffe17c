"""Check that the tests can fail: plant small mistakes in a copy of the sources, one at a time (`python -m tools.mutations`)."""
