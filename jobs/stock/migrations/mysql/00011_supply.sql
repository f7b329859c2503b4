-- +goose Up
CREATE TABLE IF NOT EXISTS stock_supply (
  sale       VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  sku        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reference  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- of the seller, once per product
  quantity   BIGINT NOT NULL, -- what was added to put_in
  settled_at BIGINT NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, sku, reference)
);

-- +goose Down
DROP TABLE IF EXISTS stock_supply;
