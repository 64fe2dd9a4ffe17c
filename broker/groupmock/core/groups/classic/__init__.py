"""The classic group, with JoinGroup, SyncGroup, Heartbeat and LeaveGroup, in which the leader assigns."""
