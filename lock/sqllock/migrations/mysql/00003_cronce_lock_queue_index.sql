-- +goose Up
-- A place is found by its owner through an index that does not begin with the key. So
-- the queue of a key has one index alone, in its order, whatever the statistics say.

ALTER TABLE cronce_places DROP INDEX ns, ADD UNIQUE (owner, name, ns);

UPDATE cronce_version SET version = 3;

-- +goose Down
ALTER TABLE cronce_places DROP INDEX owner, ADD UNIQUE (ns, name, owner);
UPDATE cronce_version SET version = 2;
