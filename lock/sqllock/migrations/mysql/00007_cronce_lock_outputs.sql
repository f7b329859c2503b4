-- +goose Up
-- The ends of the outputs of runs, only for display: no decision depends on them. Each series
-- keeps the outputs of its highest numbers, at most 20 outputs with 64 KiB together.

CREATE TABLE cronce_outputs (
  ns     VARBINARY(64) NOT NULL,
  name   VARBINARY(200) NOT NULL, -- of the series
  number BIGINT NOT NULL,
  fence  BIGINT NOT NULL, -- of the run
  output BLOB NOT NULL, -- any UTF-8 text
  PRIMARY KEY (ns, name, number)
) ENGINE = InnoDB;

UPDATE cronce_version SET version = 7;

-- +goose Down
DROP TABLE cronce_outputs;
UPDATE cronce_version SET version = 6;
