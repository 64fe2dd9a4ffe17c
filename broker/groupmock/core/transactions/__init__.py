"""The transaction coordinator gives out producer ids and epochs for transactional ids, and ends their transactions (KIP-98, KIP-360,
KIP-890)."""
