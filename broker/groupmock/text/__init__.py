"""Helpers for text: escape what peers sent, parse TOML and JSON within bounds, suggest names and build an HTML document."""
