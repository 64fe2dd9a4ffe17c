"""Clients judged by the rules of `groupmock.audit`, in Spark's Python workers."""
