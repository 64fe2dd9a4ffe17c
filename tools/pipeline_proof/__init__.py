"""Evidence about the pipeline: two versions of it over the same journals, and what a lake is after a SIGKILL at any moment."""
