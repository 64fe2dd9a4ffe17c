"""The tables of a lake, which the module `sink` commits and reads by means of Spark alone (docs/reference/pipeline/lake.md)."""
