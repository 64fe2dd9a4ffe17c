"""The classic group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, a leader that assigns."""
