"""`make search`: what chance finds. Each section looks in its own way; a find becomes a file under tests/found (docs/proof/search.md)."""
