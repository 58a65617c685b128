"""Checkpoints of conversations in one SQLite file, and the lock that keeps two processes off one conversation."""
