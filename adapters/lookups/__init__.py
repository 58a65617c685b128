"""Sources of evidence, one package per kind of store."""
