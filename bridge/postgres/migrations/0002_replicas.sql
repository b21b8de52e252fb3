-- The processes that are heard of.
CREATE TABLE bridge.replicas (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    until timestamptz NOT NULL
);

-- The conversations that are worked on. Their processes are not forgotten without them.
CREATE TABLE bridge.conversations (
    key bytea PRIMARY KEY,
    replica bigint NOT NULL
);
CREATE INDEX conversations_replica ON bridge.conversations (replica);
CREATE INDEX tasks_conversation ON bridge.tasks (list, context) WHERE has_turns;

-- Takes a lease, and returns whether it is held, and the tasks of the conversation with turns: one row more than there
-- are tasks. The order of the write-ahead log makes the lease durable before what is appended under it.
CREATE FUNCTION bridge.acquire_1(p_replica bigint, p_key bytea, p_list bytea, p_context bytea, p_task text)
RETURNS TABLE (is_held boolean, task text, head bytea)
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
DECLARE
    v_held boolean;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO bridge.conversations AS c (key, replica)
        SELECT p_key, r.id FROM bridge.replicas AS r WHERE r.id = p_replica
        ON CONFLICT (key) DO UPDATE SET replica = excluded.replica WHERE c.replica = excluded.replica;
    v_held := FOUND;
    RETURN QUERY
        SELECT v_held, NULL::text, NULL::bytea
        UNION ALL
        (SELECT v_held, t.task, t.head FROM bridge.tasks AS t
            WHERE t.has_turns AND t.list = p_list AND t.context = p_context
        UNION
        SELECT v_held, t.task, t.head FROM bridge.tasks AS t
            WHERE t.has_turns AND t.list = p_list AND t.task = p_task
        ORDER BY 2);
END
$$;

-- Gives a lease back, and returns whether the conversation has turns. Whoever wants the lease meanwhile waits for the end
-- of this transaction, so one of the two sees what the other one left.
CREATE FUNCTION bridge.release_1(p_replica bigint, p_key bytea, p_list bytea, p_context bytea, p_task text)
RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    DELETE FROM bridge.conversations WHERE key = p_key AND replica = p_replica;
    RETURN EXISTS (SELECT FROM bridge.tasks WHERE has_turns AND list = p_list AND context = p_context)
        OR EXISTS (SELECT FROM bridge.tasks WHERE has_turns AND list = p_list AND task = p_task);
END
$$;

-- Forgets a process with its leases, if it was not heard of in time or leaves. Returns whether it was known.
CREATE FUNCTION bridge.forget_1(p_replica bigint, p_leaves boolean) RETURNS boolean
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM bridge.replicas WHERE id = p_replica AND (p_leaves OR until < clock_timestamp());
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM bridge.conversations WHERE replica = p_replica;
    RETURN true;
END
$$;

-- As append_1, for a process that was not forgotten.
CREATE FUNCTION bridge.append_2(
    p_replica bigint,
    p_task text[], p_agent text[], p_list bytea[], p_context bytea[], p_client bytea[], p_state text[],
    p_status_time bigint[], p_has_turns boolean[], p_waits boolean[], p_is_open boolean[], p_head bytea[],
    p_unfinished integer[], p_expected bigint[], p_last bigint[], p_time bigint[], p_token bigint[],
    p_format smallint, p_body bytea[],
    m_at bigint[], m_key bytea[], m_seq bigint[]
) RETURNS TABLE (refused bigint, has_used_message boolean)
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM bridge.replicas WHERE id = p_replica) THEN
        RAISE EXCEPTION 'this bridge was taken for dead' USING ERRCODE = 'BR001';
    END IF;
    RETURN QUERY SELECT a.refused, a.has_used_message FROM bridge.append_1(
        p_task, p_agent, p_list, p_context, p_client, p_state, p_status_time, p_has_turns, p_waits, p_is_open, p_head,
        p_unfinished, p_expected, p_last, p_time, p_token, p_format, p_body, m_at, m_key, m_seq
    ) AS a;
END
$$;
