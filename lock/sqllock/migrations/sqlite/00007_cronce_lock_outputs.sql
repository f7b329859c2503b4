-- +goose Up
-- The ends of the outputs of runs, only for display: no decision depends on them. Each series
-- keeps the outputs of its highest numbers, at most 20 outputs with 64 KiB together.

CREATE TABLE cronce_outputs (
  ns     TEXT NOT NULL,
  name   TEXT NOT NULL, -- of the series
  number INTEGER NOT NULL,
  fence  INTEGER NOT NULL, -- of the run
  output BLOB NOT NULL, -- any UTF-8 text
  PRIMARY KEY (ns, name, number)
) WITHOUT ROWID;

UPDATE cronce_version SET version = 7;

-- +goose Down
DROP TABLE cronce_outputs;
UPDATE cronce_version SET version = 6;
