-- +goose Up
-- Nodes are read in the order of their times, so that a list of any length costs no more
-- than a short one.

CREATE INDEX IF NOT EXISTS cronce_nodes_by_until ON cronce_nodes (ns, until_us);

UPDATE cronce_version SET version = 5;

-- +goose Down
DROP INDEX cronce_nodes_by_until;
UPDATE cronce_version SET version = 4;
