"""Protocols are embedded in JoinGroup and SyncGroup as opaque bytes. They are never flexible, whatever the version of the request is."""
