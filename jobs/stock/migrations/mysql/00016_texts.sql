-- +goose Up
-- The texts that were put into an outbox and are not known to have ended.
CREATE TABLE IF NOT EXISTS stock_text (
  sale   VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  target VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq    BIGINT NOT NULL, -- the event
  put_at BIGINT NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, target, seq)
);

-- +goose Down
DROP TABLE IF EXISTS stock_text;
