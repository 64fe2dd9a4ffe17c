"""The tables of a lake, which `sink` commits and reads by means of Spark alone (docs/reference/pipeline/lake.md)."""
