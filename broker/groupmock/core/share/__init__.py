"""This package has the share partitions, which are the partitions as share groups (KIP-932) see them, and the sessions of their members."""
