"""The audit of `groupmock.audit` in Spark's Python workers."""
