"""Can the checks fail? Small mistakes are planted in a copy of the sources, one at a time: `python -m tools.mutations`."""
