-- +goose Up
-- How many ms the clock of each node is ahead of the database's, negative if behind: only for display.
-- A node of an earlier version does not write it.

ALTER TABLE cronce_nodes ADD COLUMN ahead_ms INTEGER NOT NULL DEFAULT 0;

UPDATE cronce_version SET version = 8;

-- +goose Down
ALTER TABLE cronce_nodes DROP COLUMN ahead_ms;
UPDATE cronce_version SET version = 7;
