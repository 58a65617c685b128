"""The nodes of the graph: each reads a view, calls a guard or awaits one port, and returns a partial update."""
