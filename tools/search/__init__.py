"""`make search` looks for defects by chance. Each part has its own method, and a find becomes a file under tests/found
(docs/proof/search.md)."""
