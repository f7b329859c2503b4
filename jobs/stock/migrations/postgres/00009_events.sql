-- +goose Up
ALTER TABLE stock_book ADD COLUMN IF NOT EXISTS events BOOLEAN NOT NULL DEFAULT FALSE; -- whether there is a target, so that events are written
ALTER TABLE stock_book ADD COLUMN IF NOT EXISTS seq BIGINT NOT NULL DEFAULT 0; -- the number of the last event
CREATE TABLE IF NOT EXISTS stock_event (
  sale       VARCHAR(129) NOT NULL,
  seq        BIGINT NOT NULL, -- from 1, without gaps, in the order of the commits
  order_id   VARCHAR(64) NOT NULL,
  placed_at  BIGINT NOT NULL, -- Unix milliseconds, as are all times
  kind       VARCHAR(9) NOT NULL, -- reserved, paid, cancelled, expired, returned, refunded
  at         BIGINT NOT NULL, -- when the order came into the state
  payload    TEXT NOT NULL, -- without personal data
  written_at BIGINT NOT NULL,
  PRIMARY KEY (sale, seq)
);
CREATE UNIQUE INDEX IF NOT EXISTS stock_event_order ON stock_event (sale, order_id, placed_at, kind);
CREATE TABLE IF NOT EXISTS stock_cursor (
  sale     VARCHAR(129) NOT NULL,
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
ALTER TABLE stock_book DROP COLUMN IF EXISTS seq;
ALTER TABLE stock_book DROP COLUMN IF EXISTS events;
