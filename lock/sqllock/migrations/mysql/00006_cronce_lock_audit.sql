-- +goose Up
-- The records of what operators changed: a pause, its end. The row with the number 0 has the
-- number of the newest as its record: a change locks it, so that no number is left out.

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
