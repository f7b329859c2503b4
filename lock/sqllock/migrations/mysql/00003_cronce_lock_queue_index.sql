-- +goose Up
-- The index that finds a place by its owner does not begin with the key. So the queue of a
-- key has only one index, in its order, for any statistics.

ALTER TABLE cronce_places DROP INDEX ns, ADD UNIQUE (owner, name, ns);

UPDATE cronce_version SET version = 3;

-- +goose Down
ALTER TABLE cronce_places DROP INDEX owner, ADD UNIQUE (ns, name, owner);
UPDATE cronce_version SET version = 2;
