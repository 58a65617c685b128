"""The index on a server: Qdrant or PostgreSQL, filled from the system of record and ranked like the embedded one."""
