-- +goose Up
-- MySQL has no IF NOT EXISTS for columns: existing ones are not made again.
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'stock_book' AND column_name = 'events') = 0,
  'ALTER TABLE stock_book ADD COLUMN events BOOLEAN NOT NULL DEFAULT FALSE', 'DO 0');
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'stock_book' AND column_name = 'seq') = 0,
  'ALTER TABLE stock_book ADD COLUMN seq BIGINT NOT NULL DEFAULT 0', 'DO 0');
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;
CREATE TABLE IF NOT EXISTS stock_event (
  sale       VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq        BIGINT NOT NULL, -- from 1, without gaps, in the order of the commits
  order_id   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  placed_at  BIGINT NOT NULL, -- Unix milliseconds, as are all times
  kind       VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- reserved, paid, cancelled, expired, returned, refunded
  at         BIGINT NOT NULL, -- when the order came into the state
  payload    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- without personal data
  written_at BIGINT NOT NULL,
  PRIMARY KEY (sale, seq),
  UNIQUE KEY stock_event_order (sale, order_id, placed_at, kind)
);
CREATE TABLE IF NOT EXISTS stock_cursor (
  sale     VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq      BIGINT NOT NULL, -- the number of the last event that was delivered or skipped
  seen_at  BIGINT NOT NULL, -- when a node delivered events, to the minute
  next_at  BIGINT NOT NULL, -- when the next delivery may begin
  failures BIGINT NOT NULL, -- failed deliveries of the next event
  passed   BIGINT NOT NULL, -- of these, those in which later events were delivered
  skipped  BIGINT NOT NULL, -- number of events that were skipped
  PRIMARY KEY (sale)
);

-- +goose Down
DROP TABLE IF EXISTS stock_cursor;
DROP TABLE IF EXISTS stock_event;
ALTER TABLE stock_book DROP COLUMN seq;
ALTER TABLE stock_book DROP COLUMN events;
