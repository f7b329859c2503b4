-- +goose Up
CREATE TABLE IF NOT EXISTS reward_record (
  family      TEXT    NOT NULL,
  reward      TEXT    NOT NULL,
  member      TEXT    NOT NULL,
  fence       INTEGER NOT NULL, -- of the lease under which it was recorded
  recorded_at INTEGER NOT NULL, -- Unix milliseconds
  PRIMARY KEY (family, reward)
);
CREATE TABLE IF NOT EXISTS reward_fence (
  family TEXT    NOT NULL,
  reward TEXT    NOT NULL,
  fence  INTEGER NOT NULL, -- the highest that was seen
  PRIMARY KEY (family, reward)
);

-- +goose Down
DROP TABLE IF EXISTS reward_fence;
DROP TABLE IF EXISTS reward_record;
