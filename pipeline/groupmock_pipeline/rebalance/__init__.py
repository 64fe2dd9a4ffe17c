"""The parts of the job `rebalances`: a group's events in order, numbered by rebalance, and what follows from them."""
