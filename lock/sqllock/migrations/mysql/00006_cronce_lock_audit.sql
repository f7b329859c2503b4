-- +goose Up
-- The records of the changes that operators made, such as a pause and its end. The record of the
-- row with the number 0 is the number of the newest record. A change locks that row, so that no
-- number is left out.

CREATE TABLE cronce_audit (
  ns     VARBINARY(64) NOT NULL,
  n      BIGINT NOT NULL,
  name   VARBINARY(200) NOT NULL, -- of the series
  record BLOB NOT NULL, -- JSON
  PRIMARY KEY (ns, n),
  KEY cronce_audit_by_name (ns, name, n)
) ENGINE = InnoDB;

UPDATE cronce_version SET version = 6;

-- +goose Down
DROP TABLE cronce_audit;
UPDATE cronce_version SET version = 5;
