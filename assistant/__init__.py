"""The product: the ways in, and the only place that wires the parts together."""
