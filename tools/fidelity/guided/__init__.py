"""Play exchanges on groupmock's core, and on a broker over TCP with the core as guide, and play raw bytes on both."""
