"""Outgoing hand-offs: kept in a file first, then delivered to a folder or a webhook."""
