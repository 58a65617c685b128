"""Where conversations are stored: a file of SQLite's, or a PostgreSQL server."""
