"""Exchanges: scripted multi-member dialogues with expected answers, run on the pure core or against any broker over TCP.

`language/parser.py` documents the language, `verdicts/runner.py` plays an exchange on one of `stages/`, `report/` shows what came of it;
`python -m groupmock_clients.probe HOST:PORT` judges a broker.
"""
