-- What of a result no list and no lookup reads is stored compressed. A program of version 2 reads the rest.
ALTER TABLE turns ADD COLUMN details bytea;
INSERT INTO schema_version VALUES (3, 2);
