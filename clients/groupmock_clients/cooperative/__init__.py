"""Assignors for stock consumers that implement Designs I, II and III of "Incremental Cooperative Rebalancing".

`policy` is the pure function by which a leader assigns partitions, and `balance` is its arithmetic. `aiokafka` and `kafka_python` plug it
into those two libraries. A service that installs `groupmock[cooperative-aiokafka]` loads the codec and this package only, because nothing
here needs the server.
"""
