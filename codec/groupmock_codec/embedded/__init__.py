"""What rides inside JoinGroup and SyncGroup as opaque bytes: never flexible, whatever the version of the request around it."""
