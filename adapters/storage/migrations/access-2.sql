-- Requests are counted over spans of different lengths: new visitors by the hour.
ALTER TABLE guardian.schema_version ADD COLUMN oldest integer NOT NULL DEFAULT 1;

-- The default is for the rows that are there, and for calls of the old function that are under way.
ALTER TABLE guardian.requests ADD COLUMN over timestamptz NOT NULL DEFAULT now() + interval '1 minute';
DROP INDEX guardian.requests_time;
CREATE INDEX requests_over ON guardian.requests (over);

CREATE OR REPLACE FUNCTION guardian.take(senders text[], mosts integer[], span interval)
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
