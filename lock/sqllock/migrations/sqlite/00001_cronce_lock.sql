-- +goose Up
-- The tables of cronce's lock/sqllock. Times are microseconds since 1970 on the
-- host's clock.

-- A row per key: its plain lease, and how many wait for it.
CREATE TABLE IF NOT EXISTS cronce_leases (
  ns       TEXT NOT NULL,
  name     TEXT NOT NULL,
  owner    TEXT NOT NULL,             -- who has the key, or for whom it is kept; empty: nobody
  fence    INTEGER NOT NULL,          -- the last one that was granted
  until_us INTEGER NOT NULL,
  place    INTEGER NOT NULL,          -- not 0: only kept for the owner, who had this place
  waiting  INTEGER NOT NULL,          -- how many places there are
  holders  TEXT NOT NULL,             -- JSON, if there are several, or one that shares; then there is no owner
  ticket   INTEGER NOT NULL,          -- the last place that was given
  used_day INTEGER NOT NULL,          -- the day of the last grant
  PRIMARY KEY (ns, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cronce_leases_by_day ON cronce_leases (ns, used_day);

-- Who waits for a key, in order.
CREATE TABLE IF NOT EXISTS cronce_places (
  ns      TEXT NOT NULL,
  name    TEXT NOT NULL,
  place   INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  seen_us INTEGER NOT NULL,
  most    INTEGER NOT NULL, -- how many may hold the key at once
  PRIMARY KEY (ns, name, place),
  UNIQUE (ns, name, owner)
) WITHOUT ROWID;

-- A row per series.
CREATE TABLE IF NOT EXISTS cronce_series (
  ns         TEXT NOT NULL,
  name       TEXT NOT NULL,
  format     INTEGER NOT NULL,
  state      TEXT NOT NULL, -- JSON
  revisions  TEXT NOT NULL, -- JSON
  first_line INTEGER NOT NULL,
  next_line  INTEGER NOT NULL,
  bytes      INTEGER NOT NULL, -- of its journal, about
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

-- The nodes that live, or did within a day.
CREATE TABLE IF NOT EXISTS cronce_nodes (
  ns       TEXT NOT NULL,
  node     TEXT NOT NULL,
  until_us INTEGER NOT NULL, -- until when it lives; when it left, negative
  PRIMARY KEY (ns, node)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE cronce_leases;
DROP TABLE cronce_places;
DROP TABLE cronce_series;
DROP TABLE cronce_journal;
DROP TABLE cronce_nodes;
