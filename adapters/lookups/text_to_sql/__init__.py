"""SQL by a language model: written from sentences about the tables, checked, and run under the limits of lookups."""
