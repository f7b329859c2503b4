-- +goose Up
-- The ends of the outputs of runs, for readers alone: no decision depends on them. Each series has
-- those of its highest numbers, 20 and 64 KiB at most.

CREATE TABLE cronce_outputs (
  ns     VARBINARY(64) NOT NULL,
  name   VARBINARY(200) NOT NULL, -- of the series
  number BIGINT NOT NULL,
  fence  BIGINT NOT NULL, -- of the run
  output BLOB NOT NULL, -- UTF-8 with any characters
  PRIMARY KEY (ns, name, number)
) ENGINE = InnoDB;

UPDATE cronce_version SET version = 7;

-- +goose Down
DROP TABLE cronce_outputs;
UPDATE cronce_version SET version = 6;
