"""A language model's own SQL: written from sentences about the tables, checked, and run behind the same fences as lookups."""
