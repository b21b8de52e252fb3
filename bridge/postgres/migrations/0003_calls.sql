-- Calls that one process hands to another, which works on the conversation that they are for, and their answers. They are
-- of no use after a crash of the server, and are forgotten soon.
CREATE UNLOGGED TABLE bridge.calls (
    key bytea PRIMARY KEY,          -- calls with the same key are one
    replica bigint NOT NULL,        -- who answers
    is_taken boolean NOT NULL,      -- whether that process has seen the call
    body bytea NOT NULL,
    answer bytea,
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz NOT NULL
);
CREATE INDEX calls_replica ON bridge.calls (replica, made) WHERE NOT is_taken;

-- Programs before this one answer no calls.
ALTER TABLE bridge.replicas ADD COLUMN answers_calls boolean NOT NULL DEFAULT false;

-- Hands a call to the process that works on a conversation, unless this was done before. Returns that process, and the
-- answer if there is one; nothing if no other process works on the conversation and none has seen the call.
CREATE FUNCTION bridge.hand_over_1(
    p_replica bigint, p_conversation bytea, p_key bytea, p_body bytea, p_seconds double precision
) RETURNS TABLE (replica bigint, answer bytea)
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
DECLARE
    v_holder bigint;
    v_call bridge.calls;
BEGIN
    SELECT r.id INTO v_holder FROM bridge.conversations AS c JOIN bridge.replicas AS r ON r.id = c.replica
        WHERE c.key = p_conversation AND r.id <> p_replica AND r.answers_calls;
    SELECT * INTO v_call FROM bridge.calls AS c WHERE c.key = p_key FOR UPDATE;
    IF v_call.key IS NOT NULL AND (
        v_call.answer IS NOT NULL
        OR (v_call.is_taken OR v_call.replica IS NOT DISTINCT FROM v_holder)
            AND EXISTS (SELECT FROM bridge.replicas AS r WHERE r.id = v_call.replica)
    ) THEN
        RETURN QUERY SELECT v_call.replica, v_call.answer;
    ELSIF v_holder IS NULL THEN
        DELETE FROM bridge.calls AS c WHERE c.key = p_key;
    ELSE
        INSERT INTO bridge.calls AS c (key, replica, is_taken, body, until)
            VALUES (p_key, v_holder, false, p_body, clock_timestamp() + make_interval(secs => p_seconds))
            ON CONFLICT (key) DO UPDATE SET replica = excluded.replica, is_taken = false;
        RETURN QUERY SELECT v_holder, NULL::bytea;
    END IF;
END
$$;

-- Takes calls that wait for a process, the oldest first.
CREATE FUNCTION bridge.take_calls_1(p_replica bigint, p_most integer) RETURNS TABLE (key bytea, body bytea)
LANGUAGE sql
SET enable_seqscan = off
AS $$
    UPDATE bridge.calls AS c SET is_taken = true
    FROM (
        SELECT w.key FROM bridge.calls AS w WHERE w.replica = p_replica AND NOT w.is_taken
        ORDER BY w.made LIMIT p_most FOR UPDATE SKIP LOCKED
    ) AS next
    WHERE c.key = next.key
    RETURNING c.key, c.body
$$;

-- What a record is called, so that it can be copied to another store. Records of earlier programs have digests only, until
-- they are written again.
ALTER TABLE bridge.records ADD COLUMN owner bytea, ADD COLUMN kind bytea, ADD COLUMN within bytea;
