"""What all parts agree on: values, shapes, ports, errors and decision tables. Imports nothing of ours."""
