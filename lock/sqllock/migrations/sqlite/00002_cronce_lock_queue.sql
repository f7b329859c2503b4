-- +goose Up
-- An owner enters the queue of a key with one INSERT that locks no other row: the
-- database numbers the places, and the row of a key does not count them. Owners that wait
-- while the tables change enter the new queue.

DROP TABLE IF EXISTS cronce_places;

-- The owners that wait for a key, in order.
CREATE TABLE cronce_places (
  place      INTEGER PRIMARY KEY AUTOINCREMENT,
  ns         TEXT NOT NULL,
  name       TEXT NOT NULL,
  owner      TEXT NOT NULL,
  party      TEXT NOT NULL, -- the process of the owner
  most       INTEGER NOT NULL, -- how many owners may hold the key at once
  ttl_us     INTEGER NOT NULL, -- the TTL of the requested lease
  seen_fence INTEGER NOT NULL, -- the highest fence that the owner has seen
  asked_us   INTEGER NOT NULL, -- not 0: the owner owes a sign of life since this time
  UNIQUE (ns, name, owner)
);
CREATE INDEX cronce_places_by_name ON cronce_places (ns, name, place);
CREATE INDEX cronce_places_by_asked ON cronce_places (ns, asked_us);

ALTER TABLE cronce_leases DROP COLUMN waiting;
ALTER TABLE cronce_leases DROP COLUMN ticket;

-- The version of the tables, in one row: the number of the last migration.
CREATE TABLE cronce_version (version INTEGER NOT NULL PRIMARY KEY);
INSERT INTO cronce_version (version) VALUES (2);

-- +goose Down
DROP TABLE cronce_version;
ALTER TABLE cronce_leases ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cronce_leases ADD COLUMN ticket INTEGER NOT NULL DEFAULT 0;
DROP TABLE cronce_places;
CREATE TABLE cronce_places (
  ns      TEXT NOT NULL,
  name    TEXT NOT NULL,
  place   INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  seen_us INTEGER NOT NULL,
  most    INTEGER NOT NULL,
  PRIMARY KEY (ns, name, place),
  UNIQUE (ns, name, owner)
) WITHOUT ROWID;
