-- +goose Up
-- A place is found by its owner through an index that does not begin with the key. So
-- the queue of a key has one index alone, in its order, and PostgreSQL reads the head
-- of the queue and no more, also where its statistics say that the queue is short.

ALTER TABLE cronce_places DROP CONSTRAINT cronce_places_ns_name_owner_key, ADD UNIQUE (owner, name, ns);

UPDATE cronce_version SET version = 3;

-- +goose Down
ALTER TABLE cronce_places DROP CONSTRAINT cronce_places_owner_name_ns_key, ADD UNIQUE (ns, name, owner);
UPDATE cronce_version SET version = 2;
