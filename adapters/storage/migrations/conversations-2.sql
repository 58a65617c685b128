-- The oldest version of the program that can use the tables is on record from here on.
ALTER TABLE schema_version ADD COLUMN oldest integer NOT NULL DEFAULT 1;
INSERT INTO schema_version VALUES (2, 1);
