"""A cluster that is like another one: what a real cluster has, asked through its admin API, told as seed data (`groupmock.data.seed`)."""
