-- +goose Up
-- The queue of a key is entered with one INSERT that locks no row of another: places
-- are numbered by the database, and the row of a key does not count them. Who waits
-- while the tables change enters the new queue.

DROP TABLE IF EXISTS cronce_places;

-- Who waits for a key, in order.
CREATE TABLE cronce_places (
  place      BIGINT NOT NULL AUTO_INCREMENT,
  ns         VARBINARY(64) NOT NULL,
  name       VARBINARY(200) NOT NULL,
  owner      VARBINARY(200) NOT NULL,
  party      VARBINARY(64) NOT NULL, -- the process in which the owner waits
  most       BIGINT NOT NULL, -- how many may hold the key at once
  ttl_us     BIGINT NOT NULL, -- of the lease that the owner wants
  seen_fence BIGINT NOT NULL, -- the highest that the owner has seen
  asked_us   BIGINT NOT NULL, -- not 0: since when the owner owes a sign of life
  PRIMARY KEY (ns, name, place),
  UNIQUE (place),
  UNIQUE (ns, name, owner),
  KEY cronce_places_by_asked (ns, asked_us)
) ENGINE = InnoDB;

ALTER TABLE cronce_leases DROP COLUMN waiting, DROP COLUMN ticket;

-- The version of these tables, in one row: the number of the last of these files.
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
