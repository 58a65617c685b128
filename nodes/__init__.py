"""One step each: read a view, call a guard or await one port, return a partial update."""
