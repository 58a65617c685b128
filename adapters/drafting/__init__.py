"""Drafters: who writes an answer from evidence."""
