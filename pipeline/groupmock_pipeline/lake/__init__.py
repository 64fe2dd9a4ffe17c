"""Tables of a lake on Spark's own feet: `sink` commits and reads them (docs/reference/pipeline/lake.md)."""
