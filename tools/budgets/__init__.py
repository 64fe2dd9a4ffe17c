"""What one request may cost: requests that multiply work, made from the codec's own declarations, and meters of what they cost.

`python -m tools.budgets` measures them in real time (docs/kafka/differences.md#budgets-of-one-request); `tests/unit/budgets` counts steps.
"""
