-- +goose Up
-- The records of what operators changed: a pause, its end. The row with the number 0 has the
-- number of the newest as its record: a change locks it, so that no number is left out.

CREATE TABLE cronce_audit (
  ns     TEXT COLLATE "C" NOT NULL,
  n      BIGINT NOT NULL,
  name   TEXT COLLATE "C" NOT NULL, -- of the series
  record TEXT NOT NULL, -- JSON
  PRIMARY KEY (ns, n)
);
CREATE INDEX cronce_audit_by_name ON cronce_audit (ns, name, n);

UPDATE cronce_version SET version = 6;

-- +goose Down
DROP TABLE cronce_audit;
UPDATE cronce_version SET version = 5;
