"""Tests of groupmock_codec, one file per module or question."""
