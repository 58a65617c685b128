"""What all packages share: values, data shapes, ports, errors and decision tables. Imports no other package of ours."""
