"""The group coordinator: classic and consumer groups, their offsets, and the partitions in which they are stored."""
