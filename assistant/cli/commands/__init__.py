"""One module a command; each has `run(options) -> exit code` and imports what it needs when it runs."""
