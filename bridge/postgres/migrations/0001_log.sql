-- Ids that clients choose may be long and contain any character, so tables are keyed by their digests.

-- One row a task: its head, and what lists and recovery select by.
CREATE TABLE bridge.tasks (
    task text COLLATE "C" PRIMARY KEY,
    agent text COLLATE "C" NOT NULL,
    list bytea NOT NULL,            -- digest of owner and agent
    context bytea NOT NULL,         -- digest of the context
    client bytea,                   -- digest of owner, agent and the id that the client chose
    state text COLLATE "C" NOT NULL,
    status_time bigint NOT NULL,    -- milliseconds since 1970
    seq bigint NOT NULL,            -- the last event
    bytes bigint NOT NULL,          -- the size of all events
    has_turns boolean NOT NULL,
    waits boolean NOT NULL,
    is_open boolean NOT NULL,
    head bytea NOT NULL             -- JSON
);
CREATE UNIQUE INDEX tasks_client ON bridge.tasks (client) WHERE client IS NOT NULL;
CREATE INDEX tasks_list ON bridge.tasks (list, status_time DESC, task);
CREATE INDEX tasks_context ON bridge.tasks (list, context, status_time DESC, task);
CREATE INDEX tasks_turns ON bridge.tasks (task) WHERE has_turns;
CREATE INDEX tasks_waiting ON bridge.tasks (agent, status_time, task) WHERE waits;
CREATE INDEX tasks_ended ON bridge.tasks (agent, status_time, task) WHERE NOT is_open;

-- One row an append: its events as a JSON array.
CREATE TABLE bridge.events (
    task text COLLATE "C" NOT NULL,
    last bigint NOT NULL,
    first bigint NOT NULL,
    time bigint NOT NULL,
    token bigint NOT NULL,          -- chosen by the writer, who finds out by it whether a commit without answer was made
    format smallint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (task, last)
);

-- The messages of callers, by the digest of owner, agent and message id.
CREATE TABLE bridge.messages (
    key bytea PRIMARY KEY,
    task text COLLATE "C" NOT NULL,
    seq bigint NOT NULL
);
CREATE INDEX messages_task ON bridge.messages (task);

-- Counts are kept in shards, so that writers do not wait for each other.
CREATE TABLE bridge.lists (
    list bytea NOT NULL,
    shard smallint NOT NULL,
    tasks bigint NOT NULL,
    PRIMARY KEY (list, shard)
) WITH (fillfactor = 50);
CREATE TABLE bridge.agents (
    agent text COLLATE "C" NOT NULL,
    shard smallint NOT NULL,
    unfinished bigint NOT NULL,     -- tasks that are not in a terminal state
    ended bigint NOT NULL,          -- tasks that nothing can follow
    ended_bytes bigint NOT NULL,
    PRIMARY KEY (agent, shard)
) WITH (fillfactor = 50);

-- Small records beside the log, by the digest of owner, kind and scope, and the digest of their id.
CREATE TABLE bridge.records (
    scope bytea NOT NULL,
    key bytea NOT NULL,
    id bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (scope, key)
);

-- Appends to several tasks in one transaction. Each is written whole or refused; no two are to the same task, and none
-- share a message id. Returns the refused ones, counted from 1.
CREATE FUNCTION bridge.append_1(
    p_task text[], p_agent text[], p_list bytea[], p_context bytea[], p_client bytea[], p_state text[],
    p_status_time bigint[], p_has_turns boolean[], p_waits boolean[], p_is_open boolean[], p_head bytea[],
    p_unfinished integer[], p_expected bigint[], p_last bigint[], p_time bigint[], p_token bigint[],
    p_format smallint, p_body bytea[],
    m_at bigint[], m_key bytea[], m_seq bigint[]
) RETURNS TABLE (refused bigint, has_used_message boolean)
LANGUAGE plpgsql
-- A plan that was made for an empty table must not read a full one.
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_shard smallint := pg_backend_pid() % 64;
    v_stored bytea[] := '{}';
    v_used bigint[] := '{}';
    v_moved bigint[] := '{}';
BEGIN
    IF cardinality(m_at) > 0 THEN
        WITH stored AS (
            INSERT INTO bridge.messages (key, task, seq)
            SELECT m.key, p_task[m.at], m.seq
            FROM unnest(m_at, m_key, m_seq) AS m (at, key, seq)
            ORDER BY m.key
            ON CONFLICT DO NOTHING
            RETURNING messages.key
        )
        SELECT coalesce(array_agg(stored.key), '{}') INTO v_stored FROM stored;
        IF cardinality(v_stored) < cardinality(m_at) THEN
            SELECT array_agg(DISTINCT m.at) INTO v_used
            FROM unnest(m_at, m_key) AS m (at, key)
            WHERE m.key <> ALL (v_stored);
        END IF;
    END IF;

    WITH given AS (
        SELECT * FROM unnest(
            p_task, p_agent, p_list, p_context, p_client, p_state, p_status_time, p_has_turns, p_waits, p_is_open,
            p_head, p_unfinished, p_expected, p_last, p_time, p_token, p_body
        ) WITH ORDINALITY AS g (
            task, agent, list, context, client, state, status_time, has_turns, waits, is_open,
            head, unfinished, expected, last, time, token, body, at
        )
        WHERE g.at <> ALL (v_used)
    ), changed AS (
        UPDATE bridge.tasks AS t
        SET state = g.state, status_time = g.status_time, seq = g.last, bytes = t.bytes + length(g.body),
            has_turns = g.has_turns, waits = g.waits, is_open = g.is_open, head = g.head
        FROM given AS g
        WHERE t.task = g.task AND t.seq = g.expected AND g.expected > 0
        RETURNING g.at, t.bytes
    ), created AS (
        INSERT INTO bridge.tasks (
            task, agent, list, context, client, state, status_time, seq, bytes, has_turns, waits, is_open, head
        )
        SELECT
            g.task, g.agent, g.list, g.context, g.client, g.state, g.status_time, g.last, length(g.body),
            g.has_turns, g.waits, g.is_open, g.head
        FROM given AS g
        WHERE g.expected = 0
        ON CONFLICT DO NOTHING
        RETURNING tasks.task, tasks.bytes
    ), done AS (
        SELECT changed.at, changed.bytes FROM changed
        UNION ALL
        SELECT g.at, created.bytes FROM created JOIN given AS g ON g.task = created.task
    ), written AS (
        INSERT INTO bridge.events (task, last, first, time, token, format, body)
        SELECT g.task, g.last, g.expected + 1, g.time, g.token, p_format, g.body
        FROM given AS g JOIN done ON done.at = g.at
    ), listed AS (
        INSERT INTO bridge.lists AS l (list, shard, tasks)
        SELECT g.list, v_shard, count(*)
        FROM given AS g JOIN done ON done.at = g.at
        WHERE g.expected = 0
        GROUP BY g.list ORDER BY g.list
        ON CONFLICT (list, shard) DO UPDATE SET tasks = l.tasks + excluded.tasks
    ), counted AS (
        INSERT INTO bridge.agents AS a (agent, shard, unfinished, ended, ended_bytes)
        SELECT
            g.agent, v_shard, sum(g.unfinished), count(*) FILTER (WHERE NOT g.is_open),
            coalesce(sum(done.bytes) FILTER (WHERE NOT g.is_open), 0)
        FROM given AS g JOIN done ON done.at = g.at
        WHERE g.unfinished <> 0 OR NOT g.is_open
        GROUP BY g.agent ORDER BY g.agent
        ON CONFLICT (agent, shard) DO UPDATE
        SET unfinished = a.unfinished + excluded.unfinished, ended = a.ended + excluded.ended,
            ended_bytes = a.ended_bytes + excluded.ended_bytes
    )
    SELECT coalesce(array_agg(g.at), '{}') INTO v_moved
    FROM given AS g
    WHERE NOT EXISTS (SELECT FROM done WHERE done.at = g.at);

    IF cardinality(v_stored) > 0 AND cardinality(v_used) + cardinality(v_moved) > 0 THEN
        DELETE FROM bridge.messages AS gone
        USING unnest(m_at, m_key) AS m (at, key)
        WHERE gone.key = m.key AND m.key = ANY (v_stored) AND (m.at = ANY (v_used) OR m.at = ANY (v_moved));
    END IF;
    RETURN QUERY
        SELECT u.at, true FROM unnest(v_used) AS u (at)
        UNION ALL
        SELECT u.at, false FROM unnest(v_moved) AS u (at);
END
$$;

-- Deletes a task with everything that belongs to it, and takes it out of the counts. Does nothing if the task has another
-- last event than expected. Returns whether the task was deleted.
CREATE FUNCTION bridge.delete_1(p_task text, p_seq bigint) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
DECLARE
    v_shard smallint := pg_backend_pid() % 64;
    v_gone bridge.tasks;
    v_unfinished bigint;
BEGIN
    DELETE FROM bridge.tasks WHERE task = p_task AND seq = p_seq RETURNING * INTO v_gone;
    IF v_gone.task IS NULL THEN
        RETURN false;
    END IF;
    DELETE FROM bridge.events WHERE task = p_task;
    DELETE FROM bridge.messages WHERE task = p_task;
    v_unfinished := CASE WHEN v_gone.state IN (
        'TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED'
    ) THEN 0 ELSE -1 END;
    INSERT INTO bridge.lists AS l (list, shard, tasks) VALUES (v_gone.list, v_shard, -1)
        ON CONFLICT (list, shard) DO UPDATE SET tasks = l.tasks - 1;
    INSERT INTO bridge.agents AS a (agent, shard, unfinished, ended, ended_bytes)
        VALUES (
            v_gone.agent, v_shard, v_unfinished,
            CASE WHEN v_gone.is_open THEN 0 ELSE -1 END, CASE WHEN v_gone.is_open THEN 0 ELSE -v_gone.bytes END
        )
        ON CONFLICT (agent, shard) DO UPDATE
        SET unfinished = a.unfinished + excluded.unfinished, ended = a.ended + excluded.ended,
            ended_bytes = a.ended_bytes + excluded.ended_bytes;
    RETURN true;
END
$$;
