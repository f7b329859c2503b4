-- +goose Up
ALTER TABLE stock_book ADD COLUMN events BOOLEAN NOT NULL DEFAULT FALSE; -- whether there is a target, so that events are written
ALTER TABLE stock_book ADD COLUMN seq INTEGER NOT NULL DEFAULT 0; -- the number of the last event
ALTER TABLE orders ADD COLUMN phone TEXT NOT NULL DEFAULT ''; -- E.164; empty: not named
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
  target   TEXT NOT NULL,
  since    INTEGER NOT NULL, -- the number of the last event before the target was there
  seq      INTEGER NOT NULL, -- the number of the last event that it has
  seen_at  INTEGER NOT NULL, -- when a node had the target in its configuration
  next_at  INTEGER NOT NULL, -- until when it is left alone
  tries    INTEGER NOT NULL, -- how often the next event could not be delivered
  trouble  TEXT NOT NULL, -- why
  PRIMARY KEY (sale, target)
);
CREATE TABLE IF NOT EXISTS stock_event_aside (
  sale      TEXT NOT NULL,
  target    TEXT NOT NULL, -- that refused the event
  seq       INTEGER NOT NULL,
  order_id  TEXT NOT NULL,
  placed_at INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  payload   TEXT NOT NULL,
  reason    TEXT NOT NULL,
  again     BOOLEAN NOT NULL DEFAULT FALSE, -- whether it is to be tried again
  aside_at  INTEGER NOT NULL,
  PRIMARY KEY (sale, target, seq)
);

-- +goose Down
DROP TABLE IF EXISTS stock_event_aside;
DROP TABLE IF EXISTS stock_cursor;
DROP TABLE IF EXISTS stock_event;
ALTER TABLE orders DROP COLUMN phone;
ALTER TABLE stock_book DROP COLUMN seq;
ALTER TABLE stock_book DROP COLUMN events;
