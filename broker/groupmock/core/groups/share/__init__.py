"""Share groups (KIP-932): the coordinator gives partitions to members that share them. `states` has the theory."""
