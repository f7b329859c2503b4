-- +goose Up
-- The tables of cronce's lock/sqllock. Times are microseconds since 1970 on the
-- database's clock.

-- One row for each key: its plain lease, and the number of its waiters.
CREATE TABLE IF NOT EXISTS cronce_leases (
  ns       TEXT COLLATE "C" NOT NULL,
  name     TEXT COLLATE "C" NOT NULL,
  owner    TEXT COLLATE "C" NOT NULL, -- holds the key, or has it kept for it; empty: none
  fence    BIGINT NOT NULL,           -- the last fence that was granted
  until_us BIGINT NOT NULL,
  place    BIGINT NOT NULL,           -- not 0: the key is only kept for the owner, which had this place
  waiting  BIGINT NOT NULL,           -- the number of places
  holders  TEXT NOT NULL,             -- JSON, if there are several holders, or one that shares; then owner is empty
  ticket   BIGINT NOT NULL,           -- the number of the last place
  used_day BIGINT NOT NULL,           -- the day of the last grant
  PRIMARY KEY (ns, name)
);
CREATE INDEX IF NOT EXISTS cronce_leases_by_day ON cronce_leases (ns, used_day);

-- The owners that wait for a key, in order.
CREATE TABLE IF NOT EXISTS cronce_places (
  ns      TEXT COLLATE "C" NOT NULL,
  name    TEXT COLLATE "C" NOT NULL,
  place   BIGINT NOT NULL,
  owner   TEXT COLLATE "C" NOT NULL,
  seen_us BIGINT NOT NULL,
  most    BIGINT NOT NULL, -- how many owners may hold the key at once
  PRIMARY KEY (ns, name, place),
  UNIQUE (ns, name, owner)
);

-- One row for each series.
CREATE TABLE IF NOT EXISTS cronce_series (
  ns         TEXT COLLATE "C" NOT NULL,
  name       TEXT COLLATE "C" NOT NULL,
  format     BIGINT NOT NULL,
  state      TEXT NOT NULL, -- JSON
  revisions  TEXT NOT NULL, -- JSON
  first_line BIGINT NOT NULL,
  next_line  BIGINT NOT NULL,
  bytes      BIGINT NOT NULL, -- approximate size of its journal
  PRIMARY KEY (ns, name)
);

-- The verdicts of the series.
CREATE TABLE IF NOT EXISTS cronce_journal (
  ns   TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  n    BIGINT NOT NULL,
  line TEXT NOT NULL, -- JSON
  PRIMARY KEY (ns, name, n)
);

-- The nodes that live, or lived within the last day.
CREATE TABLE IF NOT EXISTS cronce_nodes (
  ns       TEXT COLLATE "C" NOT NULL,
  node     TEXT COLLATE "C" NOT NULL,
  until_us BIGINT NOT NULL, -- the time until which the node lives or, negative, the time at which it left
  PRIMARY KEY (ns, node)
);

-- +goose Down
DROP TABLE cronce_leases;
DROP TABLE cronce_places;
DROP TABLE cronce_series;
DROP TABLE cronce_journal;
DROP TABLE cronce_nodes;
