"""The cluster that runs: how it is assembled, what doors ask of it, and how they wait for groups and faults."""
