-- +goose Up
-- The tables of cronce's lock/sqllock. Times are microseconds since 1970 on the
-- host's clock.

-- One row for each key: its plain lease, and the number of its waiters.
CREATE TABLE IF NOT EXISTS cronce_leases (
  ns       TEXT NOT NULL,
  name     TEXT NOT NULL,
  owner    TEXT NOT NULL,             -- holds the key, or has it kept for it; empty: none
  fence    INTEGER NOT NULL,          -- the last fence that was granted
  until_us INTEGER NOT NULL,
  place    INTEGER NOT NULL,          -- not 0: the key is only kept for the owner, which had this place
  waiting  INTEGER NOT NULL,          -- the number of places
  holders  TEXT NOT NULL,             -- JSON, if there are several holders, or one that shares; then owner is empty
  ticket   INTEGER NOT NULL,          -- the number of the last place
  used_day INTEGER NOT NULL,          -- the day of the last grant
  PRIMARY KEY (ns, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cronce_leases_by_day ON cronce_leases (ns, used_day);

-- The owners that wait for a key, in order.
CREATE TABLE IF NOT EXISTS cronce_places (
  ns      TEXT NOT NULL,
  name    TEXT NOT NULL,
  place   INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  seen_us INTEGER NOT NULL,
  most    INTEGER NOT NULL, -- how many owners may hold the key at once
  PRIMARY KEY (ns, name, place),
  UNIQUE (ns, name, owner)
) WITHOUT ROWID;

-- One row for each series.
CREATE TABLE IF NOT EXISTS cronce_series (
  ns         TEXT NOT NULL,
  name       TEXT NOT NULL,
  format     INTEGER NOT NULL,
  state      TEXT NOT NULL, -- JSON
  revisions  TEXT NOT NULL, -- JSON
  first_line INTEGER NOT NULL,
  next_line  INTEGER NOT NULL,
  bytes      INTEGER NOT NULL, -- approximate size of its journal
  PRIMARY KEY (ns, name)
) WITHOUT ROWID;

-- The verdicts of the series.
CREATE TABLE IF NOT EXISTS cronce_journal (
  ns   TEXT NOT NULL,
  name TEXT NOT NULL,
  n    INTEGER NOT NULL,
  line TEXT NOT NULL, -- JSON
  PRIMARY KEY (ns, name, n)
) WITHOUT ROWID;

-- The nodes that live, or lived within the last day.
CREATE TABLE IF NOT EXISTS cronce_nodes (
  ns       TEXT NOT NULL,
  node     TEXT NOT NULL,
  until_us INTEGER NOT NULL, -- the time until which the node lives or, negative, the time at which it left
  PRIMARY KEY (ns, node)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE cronce_leases;
DROP TABLE cronce_places;
DROP TABLE cronce_series;
DROP TABLE cronce_journal;
DROP TABLE cronce_nodes;
