-- +goose Up
-- The index that finds a place by its owner does not begin with the key. So the queue of a
-- key has only one index, in its order, and PostgreSQL reads only the head of the queue, even
-- if its statistics say that the queue is short.

ALTER TABLE cronce_places DROP CONSTRAINT cronce_places_ns_name_owner_key, ADD UNIQUE (owner, name, ns);

UPDATE cronce_version SET version = 3;

-- +goose Down
ALTER TABLE cronce_places DROP CONSTRAINT cronce_places_owner_name_ns_key, ADD UNIQUE (ns, name, owner);
UPDATE cronce_version SET version = 2;
