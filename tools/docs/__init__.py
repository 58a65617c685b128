"""The generated pages of `docs/`."""
