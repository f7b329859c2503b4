-- +goose Up
-- No index but the primary key begins with the sale. While orders is nearly empty all of them cost the planner the same, and
-- the foreign keys keep the plan that they began with: it would read every order of the sale for each item that is written.
CREATE INDEX IF NOT EXISTS orders_by_status ON orders (status, sale, id);
CREATE INDEX IF NOT EXISTS orders_by_settled ON orders (settled_at, sale);
DROP INDEX IF EXISTS orders_status;
DROP INDEX IF EXISTS orders_settled;

-- +goose Down
CREATE INDEX IF NOT EXISTS orders_status ON orders (sale, status, id);
CREATE INDEX IF NOT EXISTS orders_settled ON orders (sale, settled_at);
DROP INDEX IF EXISTS orders_by_status;
DROP INDEX IF EXISTS orders_by_settled;
