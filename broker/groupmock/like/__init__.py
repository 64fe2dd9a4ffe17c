"""Copies of a real cluster: its state, read through the admin API and written as seed data (`groupmock.data.seed`)."""
