"""`make search`: what chance finds. Each part looks in its own way; what it finds becomes a file under tests/found
(docs/proof/search.md)."""
