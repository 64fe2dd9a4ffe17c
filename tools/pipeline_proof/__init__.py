"""Test the pipeline's lake under SIGKILL at any moment, and compare two versions of the pipeline on the same journals."""
