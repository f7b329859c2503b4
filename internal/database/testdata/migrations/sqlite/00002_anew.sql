-- +goose Up
CREATE TABLE thing_checked (id INTEGER NOT NULL CHECK (id > 0));
INSERT INTO thing_checked (id) SELECT id FROM thing;
DROP TABLE thing;
ALTER TABLE thing_checked RENAME TO thing;
