-- +goose Up
-- The other databases change an index here. SQLite reads a queue in its order as it is.

UPDATE cronce_version SET version = 3;

-- +goose Down
UPDATE cronce_version SET version = 2;
