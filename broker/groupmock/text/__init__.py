"""Helpers for texts from outside: escape what peers sent, parse TOML and JSON within bounds, suggest names and build an HTML document."""
