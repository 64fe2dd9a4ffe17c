"""`make search` looks for defects with random inputs. Each part has its own method, and a find becomes a file under tests/found
(docs/proof/search.md)."""
