"""Designs I, II and III of "Incremental Cooperative Rebalancing" for stock consumers.

`policy` decides what a leader gives to whom (pure), `balance` is its arithmetic, `aio` and `kp` plug it into aiokafka and kafka-python.
Nothing here needs the server: a service that installs `groupmock[aiokafka]` for the assignor loads the codec and this package only.
"""
