-- +goose Up
-- The texts that were put into an outbox and are not known to have ended.
CREATE TABLE IF NOT EXISTS stock_text (
  sale   VARCHAR(129) NOT NULL,
  target VARCHAR(32) NOT NULL,
  seq    BIGINT NOT NULL, -- the event
  put_at BIGINT NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, target, seq)
);

-- +goose Down
DROP TABLE IF EXISTS stock_text;
