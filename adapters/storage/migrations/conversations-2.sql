-- Servers of the version before may go on.
ALTER TABLE schema_version ADD COLUMN oldest integer NOT NULL DEFAULT 1;
INSERT INTO schema_version VALUES (2, 1);
