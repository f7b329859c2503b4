-- +goose Up
CREATE TABLE IF NOT EXISTS reward_record (
  family      VARCHAR(64) NOT NULL,
  reward      VARCHAR(64) NOT NULL,
  member      VARCHAR(64) NOT NULL,
  fence       BIGINT NOT NULL, -- of the lease under which it was recorded
  recorded_at BIGINT NOT NULL, -- Unix milliseconds
  PRIMARY KEY (family, reward)
);
CREATE TABLE IF NOT EXISTS reward_fence (
  family VARCHAR(64) NOT NULL,
  reward VARCHAR(64) NOT NULL,
  fence  BIGINT NOT NULL, -- the highest that was seen
  PRIMARY KEY (family, reward)
);

-- +goose Down
DROP TABLE IF EXISTS reward_fence;
DROP TABLE IF EXISTS reward_record;
