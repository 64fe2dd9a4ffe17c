"""This package has the share groups (KIP-932), whose coordinator gives one partition to several members. `states` has the theory."""
