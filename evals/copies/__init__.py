"""Drafts that copy a sentence of real documentation but for one thing, which makes it wrong."""
