"""The data plane: topics, partitions, what producers may write and how fetches wait."""
