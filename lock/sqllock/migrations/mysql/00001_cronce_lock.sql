-- +goose Up
-- The tables of cronce's lock/sqllock. Times are microseconds since 1970 on the
-- database's clock. Texts are kept as bytes: no collation treats two of them as
-- equal.

-- One row for each key: its plain lease, and the number of its waiters.
CREATE TABLE IF NOT EXISTS cronce_leases (
  ns       VARBINARY(64) NOT NULL,
  name     VARBINARY(200) NOT NULL,
  owner    VARBINARY(200) NOT NULL,   -- holds the key, or has it kept for it; empty: none
  fence    BIGINT NOT NULL,           -- the last fence that was granted
  until_us BIGINT NOT NULL,
  place    BIGINT NOT NULL,           -- not 0: the key is only kept for the owner, which had this place
  waiting  BIGINT NOT NULL,           -- the number of places
  holders  MEDIUMBLOB NOT NULL,       -- JSON, if there are several holders, or one that shares; then owner is empty
  ticket   BIGINT NOT NULL,           -- the number of the last place
  used_day BIGINT NOT NULL,           -- the day of the last grant
  PRIMARY KEY (ns, name),
  KEY cronce_leases_by_day (ns, used_day)
) ENGINE = InnoDB;

-- The owners that wait for a key, in order.
CREATE TABLE IF NOT EXISTS cronce_places (
  ns      VARBINARY(64) NOT NULL,
  name    VARBINARY(200) NOT NULL,
  place   BIGINT NOT NULL,
  owner   VARBINARY(200) NOT NULL,
  seen_us BIGINT NOT NULL,
  most    BIGINT NOT NULL, -- how many owners may hold the key at once
  PRIMARY KEY (ns, name, place),
  UNIQUE (ns, name, owner)
) ENGINE = InnoDB;

-- One row for each series.
CREATE TABLE IF NOT EXISTS cronce_series (
  ns         VARBINARY(64) NOT NULL,
  name       VARBINARY(200) NOT NULL,
  format     BIGINT NOT NULL,
  state      MEDIUMBLOB NOT NULL, -- JSON
  revisions  MEDIUMBLOB NOT NULL, -- JSON
  first_line BIGINT NOT NULL,
  next_line  BIGINT NOT NULL,
  bytes      BIGINT NOT NULL, -- approximate size of its journal
  PRIMARY KEY (ns, name)
) ENGINE = InnoDB;

-- The verdicts of the series.
CREATE TABLE IF NOT EXISTS cronce_journal (
  ns   VARBINARY(64) NOT NULL,
  name VARBINARY(200) NOT NULL,
  n    BIGINT NOT NULL,
  line BLOB NOT NULL, -- JSON
  PRIMARY KEY (ns, name, n)
) ENGINE = InnoDB;

-- The nodes that live, or lived within the last day.
CREATE TABLE IF NOT EXISTS cronce_nodes (
  ns       VARBINARY(64) NOT NULL,
  node     VARBINARY(200) NOT NULL,
  until_us BIGINT NOT NULL, -- the time until which the node lives or, negative, the time at which it left
  PRIMARY KEY (ns, node)
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE cronce_leases;
DROP TABLE cronce_places;
DROP TABLE cronce_series;
DROP TABLE cronce_journal;
DROP TABLE cronce_nodes;
