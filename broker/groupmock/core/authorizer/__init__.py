"""The authorizer decides what a principal may do, by access control lists (KIP-11, KIP-290; SEC-70 to SEC-81)."""
