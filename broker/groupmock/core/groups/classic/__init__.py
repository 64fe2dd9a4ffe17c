"""A classic group is served by JoinGroup, SyncGroup, Heartbeat and LeaveGroup, and its leader assigns the partitions."""
