"""The outside, one folder per port. An adapter knows only the contracts and its vendor's library."""
