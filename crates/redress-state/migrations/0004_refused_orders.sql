-- An order that the service could not read stays, marked, until whoever placed it has seen that.
ALTER TABLE consent_orders ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
