-- +goose Up
ALTER TABLE stock_book ADD COLUMN events BOOLEAN NOT NULL DEFAULT FALSE; -- whether there is a target, so that events are written
ALTER TABLE stock_book ADD COLUMN seq INTEGER NOT NULL DEFAULT 0; -- the number of the last event
CREATE TABLE IF NOT EXISTS stock_event (
  sale       TEXT NOT NULL,
  seq        INTEGER NOT NULL, -- from 1, without gaps, in the order of the commits
  order_id   TEXT NOT NULL,
  placed_at  INTEGER NOT NULL, -- Unix milliseconds, as are all times
  kind       TEXT NOT NULL, -- reserved, paid, cancelled, expired, returned, refunded
  at         INTEGER NOT NULL, -- when the order came into the state
  payload    TEXT NOT NULL, -- without personal data
  written_at INTEGER NOT NULL,
  PRIMARY KEY (sale, seq)
);
CREATE UNIQUE INDEX IF NOT EXISTS stock_event_order ON stock_event (sale, order_id, placed_at, kind);
CREATE TABLE IF NOT EXISTS stock_cursor (
  sale     TEXT NOT NULL,
  seq      INTEGER NOT NULL, -- the number of the last event that was delivered or skipped
  seen_at  INTEGER NOT NULL, -- when a node delivered events, to the minute
  next_at  INTEGER NOT NULL, -- when the next delivery may begin
  failures INTEGER NOT NULL, -- failed deliveries of the next event
  passed   INTEGER NOT NULL, -- of these, those in which later events were delivered
  skipped  INTEGER NOT NULL, -- number of events that were skipped
  PRIMARY KEY (sale)
);

-- +goose Down
DROP TABLE IF EXISTS stock_cursor;
DROP TABLE IF EXISTS stock_event;
ALTER TABLE stock_book DROP COLUMN seq;
ALTER TABLE stock_book DROP COLUMN events;
