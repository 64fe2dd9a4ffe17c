"""The transaction coordinator: who writes under which transactional id, and how their transactions end (KIP-98, KIP-360, KIP-890)."""
