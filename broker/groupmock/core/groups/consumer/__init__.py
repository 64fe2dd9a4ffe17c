"""Consumer groups (KIP-848): the coordinator assigns, members are told by their heartbeats what to give up and what they may have."""
