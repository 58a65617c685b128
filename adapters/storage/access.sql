-- What the servers of all profiles on one database share about whoever asks: keys, secrets of the program's own, and counts
-- of requests.

CREATE TABLE guardian.schema_version (version integer NOT NULL, oldest integer NOT NULL DEFAULT 1);

CREATE TABLE guardian.api_keys (
    name       text COLLATE "C" PRIMARY KEY,
    -- Empty if the key was removed: the row stays, so that the servers still ask for keys.
    sha256     text NOT NULL CHECK (sha256 ~ '^([0-9a-f]{64})?$'),
    role       text NOT NULL,
    per_minute integer NOT NULL CHECK (per_minute >= 1)
);

CREATE TABLE guardian.secrets (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

CREATE UNLOGGED TABLE guardian.requests (            -- whose span is not over: a crash of the server forgives them
    sender text COLLATE "C" NOT NULL,
    at     timestamptz NOT NULL,
    over   timestamptz NOT NULL DEFAULT now() + interval '1 minute'
);
CREATE INDEX requests_sender ON guardian.requests (sender, at);
CREATE INDEX requests_over ON guardian.requests (over);

-- Count a request of each sender. If one of them has made its number of requests in the span, nothing is counted: its place in
-- the list and the seconds until there is room return. Of two that ask at once for one sender, one waits here for the other.
CREATE FUNCTION guardian.take(senders text[], mosts integer[], span interval)
RETURNS TABLE (place integer, wait double precision) LANGUAGE plpgsql AS $$
DECLARE
    present timestamptz;
    made    integer;
BEGIN
    FOR i IN 1 .. cardinality(senders) LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended(senders[i], 1936613746));
    END LOOP;
    present := clock_timestamp();
    DELETE FROM guardian.requests AS r WHERE r.over <= present AND (r.sender = ANY (senders) OR random() < 0.01);
    FOR i IN 1 .. cardinality(senders) LOOP
        SELECT count(*) INTO made FROM guardian.requests AS r WHERE r.sender = senders[i];
        IF made >= mosts[i] THEN
            RETURN QUERY
                SELECT i, extract(epoch FROM r.over - present)::double precision FROM guardian.requests AS r
                WHERE r.sender = senders[i] ORDER BY r.over OFFSET made - mosts[i] LIMIT 1;
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO guardian.requests SELECT one, present, present + span FROM unnest(senders) AS one;
END $$;

INSERT INTO guardian.schema_version VALUES (2, 1);
