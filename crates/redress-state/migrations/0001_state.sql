-- What is kept about the file itself: the salt of the hashes, and the clocks that upkeep goes by.
CREATE TABLE meta (
    name TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- One row for each idempotency key. `age` is the running time at which it was claimed, `input` a keyed hash.
CREATE TABLE keys (
    caller TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    claim INTEGER NOT NULL,
    input BLOB NOT NULL,
    age INTEGER NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('running', 'output', 'problem', 'lost')),
    outcome TEXT,
    PRIMARY KEY (caller, operation, key)
) WITHOUT ROWID;
CREATE INDEX keys_by_age ON keys (age);

-- One row for each consent that was given and not taken back.
CREATE TABLE consents (
    caller TEXT NOT NULL,
    scope TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (caller, scope)
) WITHOUT ROWID;

-- One row for each batch of records that were kept together. `id` only grows, and is 4096 times a moment in
-- milliseconds no earlier than any of the records. `age_ms` is what retention goes by.
CREATE TABLE audit_batches (
    id INTEGER PRIMARY KEY,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    age_ms INTEGER NOT NULL,
    count INTEGER NOT NULL,
    records TEXT NOT NULL
);

-- The records one by one, for whoever asks with SQL.
CREATE VIEW audit AS
SELECT
    strftime('%Y-%m-%dT%H:%M:%f', json_extract(record.value, '$[0]') / 1000.0, 'unixepoch') || 'Z' AS time,
    json_extract(record.value, '$[1]') AS request_id,
    json_extract(record.value, '$[2]') AS parent,
    json_extract(record.value, '$[3]') AS face,
    json_extract(record.value, '$[4]') AS caller,
    json_extract(record.value, '$[5]') AS operation,
    json_extract(record.value, '$[6]') AS code,
    json_extract(record.value, '$[7]') AS elapsed_us,
    json_extract(record.value, '$[8]') AS input_hash,
    json_extract(record.value, '$[9]') AS repeated,
    audit_batches.id AS batch
FROM audit_batches, json_each(audit_batches.records) AS record;
