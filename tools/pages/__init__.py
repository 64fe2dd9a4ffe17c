"""The programs that write the pages under docs/ and the tables of README."""
