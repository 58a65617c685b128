"""The adapters to the outside, one folder a port. An adapter knows only the contracts and its vendor's library."""
