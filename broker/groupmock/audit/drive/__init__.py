"""A conformance run: the client's own program, in several copies, is put through situations, and each leaves a journal that is audited.

The driver of situations starts clusters and steers them; the rules, which judge, know nothing of it (`groupmock.audit` imports no core).
"""
