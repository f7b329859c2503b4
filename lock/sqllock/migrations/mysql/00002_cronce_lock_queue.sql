-- +goose Up
-- An owner enters the queue of a key with one INSERT that locks no other row: the
-- database numbers the places, and the row of a key does not count them. Owners that wait
-- while the tables change enter the new queue.

DROP TABLE IF EXISTS cronce_places;

-- The owners that wait for a key, in order.
CREATE TABLE cronce_places (
  place      BIGINT NOT NULL AUTO_INCREMENT,
  ns         VARBINARY(64) NOT NULL,
  name       VARBINARY(200) NOT NULL,
  owner      VARBINARY(200) NOT NULL,
  party      VARBINARY(64) NOT NULL, -- the process of the owner
  most       BIGINT NOT NULL, -- how many owners may hold the key at once
  ttl_us     BIGINT NOT NULL, -- the TTL of the requested lease
  seen_fence BIGINT NOT NULL, -- the highest fence that the owner has seen
  asked_us   BIGINT NOT NULL, -- not 0: the owner owes a sign of life since this time
  PRIMARY KEY (ns, name, place),
  UNIQUE (place),
  UNIQUE (ns, name, owner),
  KEY cronce_places_by_asked (ns, asked_us)
) ENGINE = InnoDB;

ALTER TABLE cronce_leases DROP COLUMN waiting, DROP COLUMN ticket;

-- The version of the tables, in one row: the number of the last migration.
CREATE TABLE cronce_version (version BIGINT NOT NULL PRIMARY KEY) ENGINE = InnoDB;
INSERT INTO cronce_version (version) VALUES (2);

-- +goose Down
DROP TABLE cronce_version;
ALTER TABLE cronce_leases ADD COLUMN waiting BIGINT NOT NULL DEFAULT 0, ADD COLUMN ticket BIGINT NOT NULL DEFAULT 0;
DROP TABLE cronce_places;
CREATE TABLE cronce_places (
  ns      VARBINARY(64) NOT NULL,
  name    VARBINARY(200) NOT NULL,
  place   BIGINT NOT NULL,
  owner   VARBINARY(200) NOT NULL,
  seen_us BIGINT NOT NULL,
  most    BIGINT NOT NULL,
  PRIMARY KEY (ns, name, place),
  UNIQUE (ns, name, owner)
) ENGINE = InnoDB;
