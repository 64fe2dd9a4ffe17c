"""Budgets of one request: requests that multiply work, generated from the codec's declarations, and meters of their cost.

`python -m tools.budgets` measures real time (docs/kafka/differences.md#budgets-of-one-request), and `tests/unit/budgets` counts steps.
"""
