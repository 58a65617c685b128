"""Fakes of the ports: they ship with the product, and run the same conformance suites as the real adapters."""
