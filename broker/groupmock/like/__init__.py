"""Copies a real cluster: reads its state through the admin API and writes it as seed data (`groupmock.data.seed`)."""
