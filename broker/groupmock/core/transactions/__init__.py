"""The transaction coordinator assigns producer ids and epochs to transactional ids, and ends their transactions (KIP-98, KIP-360,
KIP-890)."""
