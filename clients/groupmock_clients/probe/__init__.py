"""Exchanges are scripted multi-member dialogues with expected answers, played on the pure core or against any broker over TCP.

`language/parser.py` documents the language, `verdicts/runner.py` plays an exchange on one of `stages/`, and `report/` shows the results.
`python -m groupmock_clients.probe HOST:PORT` judges a broker.
"""
