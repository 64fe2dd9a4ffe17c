"""A conformance run puts several copies of a client program through situations, and audits the journal of each situation.

The driver of situations starts clusters and steers them; the rules, which judge, know nothing of it (`groupmock.audit` imports no core).
"""
