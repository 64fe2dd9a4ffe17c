"""The parts of job `rebalances`: the events of a group in order, numbered by rebalance, and the columns derived from them."""
