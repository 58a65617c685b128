"""Attacks in text: jailbreaks, orders to a model, demands for secrets, text that no reader sees."""
