-- +goose Up
ALTER TABLE reward_record ADD COLUMN state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'claimed'
  CHECK (state IN ('offered', 'claimed', 'delivered', 'withdrawn'));
-- Unix milliseconds, 0: never
ALTER TABLE reward_record ADD COLUMN offered_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reward_record ADD COLUMN delivered_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reward_record ADD COLUMN withdrawn_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE reward_record DROP COLUMN withdrawn_at;
ALTER TABLE reward_record DROP COLUMN delivered_at;
ALTER TABLE reward_record DROP COLUMN offered_at;
ALTER TABLE reward_record DROP COLUMN state;
