"""The command `guardian`."""
