-- +goose Up
-- The tables of cronce's lock/sqllock. Times are microseconds since 1970 on the
-- database's clock.

-- A row per key: its plain lease, and how many wait for it.
CREATE TABLE IF NOT EXISTS cronce_leases (
  ns       TEXT COLLATE "C" NOT NULL,
  name     TEXT COLLATE "C" NOT NULL,
  owner    TEXT COLLATE "C" NOT NULL, -- who has the key, or for whom it is kept; empty: nobody
  fence    BIGINT NOT NULL,           -- the last one that was granted
  until_us BIGINT NOT NULL,
  place    BIGINT NOT NULL,           -- not 0: only kept for the owner, who had this place
  waiting  BIGINT NOT NULL,           -- how many places there are
  holders  TEXT NOT NULL,             -- JSON, if there are several, or one that shares; then there is no owner
  ticket   BIGINT NOT NULL,           -- the last place that was given
  used_day BIGINT NOT NULL,           -- the day of the last grant
  PRIMARY KEY (ns, name)
);
CREATE INDEX IF NOT EXISTS cronce_leases_by_day ON cronce_leases (ns, used_day);

-- Who waits for a key, in order.
CREATE TABLE IF NOT EXISTS cronce_places (
  ns      TEXT COLLATE "C" NOT NULL,
  name    TEXT COLLATE "C" NOT NULL,
  place   BIGINT NOT NULL,
  owner   TEXT COLLATE "C" NOT NULL,
  seen_us BIGINT NOT NULL,
  most    BIGINT NOT NULL, -- how many may hold the key at once
  PRIMARY KEY (ns, name, place),
  UNIQUE (ns, name, owner)
);

-- A row per series.
CREATE TABLE IF NOT EXISTS cronce_series (
  ns         TEXT COLLATE "C" NOT NULL,
  name       TEXT COLLATE "C" NOT NULL,
  format     BIGINT NOT NULL,
  state      TEXT NOT NULL, -- JSON
  revisions  TEXT NOT NULL, -- JSON
  first_line BIGINT NOT NULL,
  next_line  BIGINT NOT NULL,
  bytes      BIGINT NOT NULL, -- of its journal, about
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

-- The nodes that live, or did within a day.
CREATE TABLE IF NOT EXISTS cronce_nodes (
  ns       TEXT COLLATE "C" NOT NULL,
  node     TEXT COLLATE "C" NOT NULL,
  until_us BIGINT NOT NULL, -- until when it lives; when it left, negative
  PRIMARY KEY (ns, node)
);

-- +goose Down
DROP TABLE cronce_leases;
DROP TABLE cronce_places;
DROP TABLE cronce_series;
DROP TABLE cronce_journal;
DROP TABLE cronce_nodes;
