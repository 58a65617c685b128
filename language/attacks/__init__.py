"""What attacks by its words: jailbreaks, orders to a model, demands for secrets, text that no reader sees."""
