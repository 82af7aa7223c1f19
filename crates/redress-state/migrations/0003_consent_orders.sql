-- What a person has ordered with the command while a service runs, which carries it out and removes it: a consent until
-- `until_ms`, or where that is missing, that one is taken back.
CREATE TABLE consent_orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    caller TEXT NOT NULL,
    scope TEXT NOT NULL,
    until_ms INTEGER,
    reason TEXT NOT NULL
);
