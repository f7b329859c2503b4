-- +goose Up
-- The ends of the outputs of runs, only for display: no decision depends on them. Each series
-- keeps the outputs of its highest numbers, at most 20 outputs with 64 KiB together.

CREATE TABLE cronce_outputs (
  ns     TEXT COLLATE "C" NOT NULL,
  name   TEXT COLLATE "C" NOT NULL, -- of the series
  number BIGINT NOT NULL,
  fence  BIGINT NOT NULL, -- of the run
  output BYTEA NOT NULL, -- any UTF-8 text
  PRIMARY KEY (ns, name, number)
);

UPDATE cronce_version SET version = 7;

-- +goose Down
DROP TABLE cronce_outputs;
UPDATE cronce_version SET version = 6;
