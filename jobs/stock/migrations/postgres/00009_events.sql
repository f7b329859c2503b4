-- +goose Up
ALTER TABLE stock_book ADD COLUMN IF NOT EXISTS events BOOLEAN NOT NULL DEFAULT FALSE; -- whether there is a target, so that events are written
ALTER TABLE stock_book ADD COLUMN IF NOT EXISTS seq BIGINT NOT NULL DEFAULT 0; -- the number of the last event
ALTER TABLE orders ADD COLUMN IF NOT EXISTS phone VARCHAR(16) NOT NULL DEFAULT ''; -- E.164; empty: not named
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
  target   VARCHAR(32) NOT NULL,
  since    BIGINT NOT NULL, -- the number of the last event before the target was there
  seq      BIGINT NOT NULL, -- the number of the last event that it has
  seen_at  BIGINT NOT NULL, -- when a node had the target in its configuration
  next_at  BIGINT NOT NULL, -- until when it is left alone
  tries    BIGINT NOT NULL, -- how often the next event could not be delivered
  trouble  VARCHAR(300) NOT NULL, -- why
  PRIMARY KEY (sale, target)
);
CREATE TABLE IF NOT EXISTS stock_event_aside (
  sale      VARCHAR(129) NOT NULL,
  target    VARCHAR(32) NOT NULL, -- that refused the event
  seq       BIGINT NOT NULL,
  order_id  VARCHAR(64) NOT NULL,
  placed_at BIGINT NOT NULL,
  kind      VARCHAR(9) NOT NULL,
  at        BIGINT NOT NULL,
  payload   TEXT NOT NULL,
  reason    VARCHAR(300) NOT NULL,
  again     BOOLEAN NOT NULL DEFAULT FALSE, -- whether it is to be tried again
  aside_at  BIGINT NOT NULL,
  PRIMARY KEY (sale, target, seq)
);

-- +goose Down
DROP TABLE IF EXISTS stock_event_aside;
DROP TABLE IF EXISTS stock_cursor;
DROP TABLE IF EXISTS stock_event;
ALTER TABLE orders DROP COLUMN IF EXISTS phone;
ALTER TABLE stock_book DROP COLUMN IF EXISTS seq;
ALTER TABLE stock_book DROP COLUMN IF EXISTS events;
