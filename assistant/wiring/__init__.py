"""The only place that wires: settings and profile in; ports, sources, graph and turn runner out."""
