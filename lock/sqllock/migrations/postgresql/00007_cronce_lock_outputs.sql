-- +goose Up
-- The ends of the outputs of runs, for readers alone: no decision depends on them. Each series has
-- those of its highest numbers, 20 and 64 KiB at most.

CREATE TABLE cronce_outputs (
  ns     TEXT COLLATE "C" NOT NULL,
  name   TEXT COLLATE "C" NOT NULL, -- of the series
  number BIGINT NOT NULL,
  fence  BIGINT NOT NULL, -- of the run
  output BYTEA NOT NULL, -- UTF-8 with any characters
  PRIMARY KEY (ns, name, number)
);

UPDATE cronce_version SET version = 7;

-- +goose Down
DROP TABLE cronce_outputs;
UPDATE cronce_version SET version = 6;
