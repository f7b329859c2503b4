-- +goose Up
-- The records of the changes that operators made, such as a pause and its end. The record of the
-- row with the number 0 is the number of the newest record. A change locks that row, so that no
-- number is left out.

CREATE TABLE cronce_audit (
  ns     TEXT NOT NULL,
  n      INTEGER NOT NULL,
  name   TEXT NOT NULL, -- of the series
  record TEXT NOT NULL, -- JSON
  PRIMARY KEY (ns, n)
) WITHOUT ROWID;
CREATE INDEX cronce_audit_by_name ON cronce_audit (ns, name, n);

UPDATE cronce_version SET version = 6;

-- +goose Down
DROP TABLE cronce_audit;
UPDATE cronce_version SET version = 5;
