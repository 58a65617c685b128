"""Forbidden values: secrets, personal data and foreign links, and the masking of their places."""
