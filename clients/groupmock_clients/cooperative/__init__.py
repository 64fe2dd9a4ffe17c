"""Designs I, II and III of "Incremental Cooperative Rebalancing" for stock consumers.

`policy` decides what a leader gives to whom (pure), `balance` is its arithmetic; `aiokafka` and `kafka_python` plug it into those two
libraries.
Nothing here needs the server: a service that installs `groupmock[cooperative-aiokafka]` for the assignor loads the codec and this package
only.
"""
