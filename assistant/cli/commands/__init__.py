"""The commands, one module each, with `run(options) -> exit code`; each imports what it needs when it runs."""
