"""Copy a real cluster: read its state through the admin API and write it as seed data (`groupmock.data.seed`)."""
