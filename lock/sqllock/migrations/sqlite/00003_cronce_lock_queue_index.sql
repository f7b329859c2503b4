-- +goose Up
-- The other databases change an index here. SQLite reads a queue in its order without it.

UPDATE cronce_version SET version = 3;

-- +goose Down
UPDATE cronce_version SET version = 2;
