"""Hand-offs on their way out: kept in a file first, then delivered to a folder or a webhook."""
