"""Checkers on a server that judge whether claims follow from the text that they cite."""
