"""A check of the project's English prose, as a part of `make check`."""
