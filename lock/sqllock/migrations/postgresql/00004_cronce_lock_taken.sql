-- +goose Up
-- The leases that were taken from their owners: the records of forced unlocks, and the time
-- until which the answer to such an owner names the cause.

CREATE TABLE cronce_taken (
  ns       TEXT COLLATE "C" NOT NULL,
  name     TEXT COLLATE "C" NOT NULL,
  until_us BIGINT NOT NULL, -- after this time the row is no longer needed
  book     TEXT NOT NULL, -- JSON
  PRIMARY KEY (ns, name)
);
CREATE INDEX cronce_taken_by_until ON cronce_taken (ns, until_us);

UPDATE cronce_version SET version = 4;

-- +goose Down
DROP TABLE cronce_taken;
UPDATE cronce_version SET version = 3;
