-- The tables of one profile's conversations in PostgreSQL, in a schema of their own. LangGraph makes its own tables for
-- checkpoints there. Ids compare byte by byte, as in SQLite: lists are cut by the beginning of an id.

CREATE TABLE schema_version (version integer NOT NULL, oldest integer NOT NULL DEFAULT 1);

CREATE TABLE claims (
    thread_id text COLLATE "C" PRIMARY KEY,
    epoch     bigint NOT NULL,          -- one more with each claim; every write of a turn names it
    token     text NOT NULL,            -- of this claim alone: an epoch may come again after a failover
    holder    text NOT NULL,            -- the process, for people
    at        timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

CREATE FUNCTION fence(claimed text, its_epoch bigint, its_token text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM claims WHERE thread_id = claimed AND epoch = its_epoch AND token = its_token FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another process has claimed the conversation' USING ERRCODE = 'GF001';
    END IF;
END $$;

-- A text as JSON; nothing where it is none, so that one damaged row does not hide all others. Zero bytes, which JSON may
-- have and PostgreSQL's texts may not, become marks.
CREATE FUNCTION read_json(written text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF position('\u0000' IN written) > 0 THEN
        written := regexp_replace(written, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g');
    END IF;
    RETURN written::json;
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

-- SQLite's functions that the lookups of the conversations use (profiles/handbook.toml), so that one statement asks both.
CREATE FUNCTION json_extract(written text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_path_query_first(read_json(written)::jsonb, path::jsonpath) #>> '{}'
$$;
CREATE FUNCTION json_array_length(written text, path text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_array_length(jsonb_path_query_first(read_json(written)::jsonb, path::jsonpath))
$$;
CREATE FUNCTION julianday(at text) RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT extract(epoch FROM at::timestamptz)::double precision / 86400 + 2440587.5
$$;

CREATE TABLE turns (
    thread_id   text COLLATE "C" NOT NULL,
    number      integer NOT NULL,
    turn_id     text COLLATE "C" NOT NULL,
    status      text NOT NULL CHECK (status IN ('running', 'done')),
    question    text NOT NULL,
    context     text NOT NULL,
    result      text,
    started_at  text COLLATE "C" NOT NULL,
    finished_at text COLLATE "C",
    details     bytea,                 -- of the result; compressed by the program
    PRIMARY KEY (thread_id, turn_id),
    UNIQUE (thread_id, number),
    CHECK ((status = 'done') = (result IS NOT NULL AND finished_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX turns_one_running ON turns (thread_id) WHERE status = 'running';
CREATE INDEX turns_by_time ON turns (started_at);

CREATE TABLE labels (
    thread_id text COLLATE "C" PRIMARY KEY,
    title     text NOT NULL,
    pinned    integer NOT NULL
);

CREATE TABLE feedback (
    thread_id text COLLATE "C" NOT NULL,
    turn_id   text COLLATE "C" NOT NULL,
    rating    text NOT NULL CHECK (rating IN ('up', 'down')),
    comment   text NOT NULL,
    at        text COLLATE "C" NOT NULL,
    PRIMARY KEY (thread_id, turn_id)
);

CREATE TABLE histories (
    thread_id text COLLATE "C" PRIMARY KEY,
    key       text NOT NULL,
    at        text COLLATE "C" NOT NULL
);
CREATE INDEX histories_key ON histories (key);

CREATE TABLE reviews (
    thread_id text COLLATE "C" NOT NULL,
    turn_id   text COLLATE "C" NOT NULL,
    handled   integer NOT NULL DEFAULT 0 CHECK (handled IN (0, 1)),
    note      text NOT NULL DEFAULT '',
    case_id   text NOT NULL DEFAULT '',
    who       text NOT NULL,
    at        text COLLATE "C" NOT NULL,
    PRIMARY KEY (thread_id, turn_id)
);

CREATE TABLE looks (
    at   text COLLATE "C" NOT NULL,
    who  text NOT NULL,
    what text NOT NULL
);

CREATE TABLE links (
    digest    text COLLATE "C" PRIMARY KEY,
    thread_id text COLLATE "C" NOT NULL,
    turns     integer NOT NULL,
    role      text NOT NULL,
    until     bigint NOT NULL,
    begun     text NOT NULL
);
CREATE INDEX links_thread ON links (thread_id);

CREATE TABLE model_costs (
    day      text COLLATE "C" NOT NULL,
    who      text COLLATE "C" NOT NULL,
    amount   double precision NOT NULL,
    currency text COLLATE "C" NOT NULL,
    PRIMARY KEY (day, who, currency)
);

CREATE UNLOGGED TABLE wishes (             -- of running turns alone: a crash of the server ends these, too
    thread_id text COLLATE "C" NOT NULL,
    turn_id   text COLLATE "C" NOT NULL,
    wish      text NOT NULL,
    PRIMARY KEY (thread_id, turn_id, wish)
);

CREATE UNLOGGED TABLE relayed_events (
    thread_id text COLLATE "C" NOT NULL,
    turn_id   text COLLATE "C" NOT NULL,
    run       text COLLATE "C" NOT NULL,
    number    integer NOT NULL,
    event     text NOT NULL,
    PRIMARY KEY (thread_id, turn_id, run, number)
);

CREATE TABLE hand_offs (
    thread_id    text COLLATE "C" NOT NULL,
    turn_id      text COLLATE "C" NOT NULL,
    key          text NOT NULL,
    kept_at      text COLLATE "C" NOT NULL,
    ticket       text,                  -- JSON; nothing once it is delivered
    tries        integer NOT NULL DEFAULT 0,
    refused      integer NOT NULL DEFAULT 0,
    why          text NOT NULL DEFAULT '',
    delivered_at text,
    delivered_to text NOT NULL DEFAULT '',
    PRIMARY KEY (thread_id, turn_id)
);

INSERT INTO schema_version VALUES (3, 2);
