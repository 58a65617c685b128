"""Drafters: they write an answer from evidence."""
