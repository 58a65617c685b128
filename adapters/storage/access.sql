-- What the servers of all profiles on one database share about whoever asks: keys, and secrets of the program's own.

CREATE TABLE schema_version (version integer NOT NULL);

CREATE TABLE api_keys (
    name       text COLLATE "C" PRIMARY KEY,
    sha256     text NOT NULL,           -- empty if the key was removed: the row stays, so that the server still asks for keys
    role       text NOT NULL,
    per_minute integer NOT NULL
);

CREATE TABLE secrets (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

INSERT INTO schema_version VALUES (1);
