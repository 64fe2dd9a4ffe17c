"""Handle texts from outside: escape texts of peers, parse TOML and JSON within bounds, suggest names and build an HTML document."""
