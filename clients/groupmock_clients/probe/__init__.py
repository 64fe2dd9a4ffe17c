"""Exchanges: scripted multi-member dialogues with expected answers, run on the pure core or against any broker over TCP.

`parser.py` documents the language, `runner.py` plays an exchange on a stage (`core_stage.py`, `tcp_stage.py`);
`python -m groupmock_clients.probe HOST:PORT` judges a broker.
"""
