"""What writes the pages under docs/ and the tables of README."""
