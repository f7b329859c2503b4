-- +goose Up
-- The leases that were taken from their owners: the records of forced unlocks, and the time
-- until which the answer to such an owner names the cause.

CREATE TABLE cronce_taken (
  ns       VARBINARY(64) NOT NULL,
  name     VARBINARY(200) NOT NULL,
  until_us BIGINT NOT NULL, -- after this time the row is no longer needed
  book     MEDIUMBLOB NOT NULL, -- JSON
  PRIMARY KEY (ns, name),
  KEY cronce_taken_by_until (ns, until_us)
) ENGINE = InnoDB;

UPDATE cronce_version SET version = 4;

-- +goose Down
DROP TABLE cronce_taken;
UPDATE cronce_version SET version = 3;
