-- +goose Up
-- What is kept of leases that were taken from their owners: the records of forced
-- unlocks, and for how long such an owner is answered with the cause.

CREATE TABLE cronce_taken (
  ns       TEXT COLLATE "C" NOT NULL,
  name     TEXT COLLATE "C" NOT NULL,
  until_us BIGINT NOT NULL, -- from then on nothing of it counts
  book     TEXT NOT NULL, -- JSON
  PRIMARY KEY (ns, name)
);
CREATE INDEX cronce_taken_by_until ON cronce_taken (ns, until_us);

UPDATE cronce_version SET version = 4;

-- +goose Down
DROP TABLE cronce_taken;
UPDATE cronce_version SET version = 3;
