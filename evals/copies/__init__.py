"""Drafts that copy a sentence of real documentation with one change that makes it wrong."""
