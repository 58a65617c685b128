"""Checkers behind a server that tell whether claims follow from what they cite."""
