"""Stock Python clients over TCP against groupmock, or against any broker: `pytest tests/clients --against HOST:PORT`."""
