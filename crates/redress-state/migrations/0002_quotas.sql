-- One row for each allowance that a caller has taken calls from. `rule` is what is counted together, `starts` and
-- `renews` are in seconds since 1970, `allowed` is how many there were when the last call was counted.
CREATE TABLE quotas (
    caller TEXT NOT NULL,
    rule TEXT NOT NULL,
    period TEXT NOT NULL CHECK (period IN ('hour', 'day', 'month')),
    starts INTEGER NOT NULL,
    renews INTEGER NOT NULL,
    used INTEGER NOT NULL,
    allowed INTEGER NOT NULL,
    PRIMARY KEY (caller, rule, period, starts)
) WITHOUT ROWID;
CREATE INDEX quotas_by_end ON quotas (renews);
