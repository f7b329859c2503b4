-- +goose Up
-- The texts that were put into an outbox and are not known to have ended.
CREATE TABLE IF NOT EXISTS stock_text (
  sale   TEXT NOT NULL,
  target TEXT NOT NULL,
  seq    INTEGER NOT NULL, -- the event
  put_at INTEGER NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, target, seq)
);

-- +goose Down
DROP TABLE IF EXISTS stock_text;
