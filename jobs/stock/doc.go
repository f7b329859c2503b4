// Package stock sells limited stock, and never more of a product than there is.
//
// A [Sale] keeps stock and orders in Redis. [Sale.Put] puts a product in;
// [Sale.Reserve] takes an order's items out of stock, all or none, in one script;
// [Sale.Pay] marks them as sold. [Sale.Cancel] puts them back, and so does the end of
// their reservation.
//
//	reserved ──pay──▶ paid ──▶ returned ──▶ refunded
//	    ├──cancel▶ cancelled
//	    └──time──▶ expired
//
// For every product, at every moment, stock + reserved + sold = its total,
// and none is negative. Each change is one step of the store that checks and writes at
// once. No lock is used, and a lock would not be enough: it can expire between the check
// and the write.
//
// # Idempotence
//
// An order has an id that the buyer's side chooses. Every call may be repeated
// with the same id after a lost reply or a crash. It returns the same answer and takes
// nothing twice. The store remembers closed orders for a week after they were settled
// ([Options.Retention]); with [Options.Book] older ones are read from the book, except by
// [Sale.Reserve]: a repeat so late may be refused as sold out, or counts as new until the
// book refuses it, about a second later, or with Options.Settled before the answer. A
// refused order is not remembered.
//
// # Accepted orders
//
// An answer without an error means that the store has made the change. Whether the change
// survives depends on the store's configuration:
//
//   - No persistence: a restart of the server loses everything.
//   - appendonly yes, appendfsync everysec: a killed server loses nothing as a
//     rule, but up to two seconds when its disk was busy syncing; a machine that
//     loses power loses as much.
//   - appendonly yes, appendfsync always: neither loses anything.
//   - A failover loses the changes that had not reached the promoted replica. With
//     [Options.Replicas] = n the call waits until n replicas have the change, or returns
//     [ErrUnconfirmed]. If n is the number of all replicas, each replica that can be
//     promoted has the change.
//
// # When the store loses data
//
// With [Options.Book] the database is the book, and the store holds a shelf that is built
// from it. If the store has less than the book, or less than it acknowledged to this
// process, the sale is closed: each change returns [ErrStockUnknown] until [Sale.Restore]
// has rebuilt the shelf from the book alone. With [Options.Settled] nothing that was
// acknowledged is lost. Otherwise the orders, payments and cancellations that were not
// settled yet are lost, about one second of them. [Sale.Watch] compares the two each
// second. Without a book a loss of data goes unnoticed, and the stock is sold again.
//
// # The store
//
// The sale needs Redis 6.2 or later: one server, Sentinel or Cluster, with an
// eviction policy of noeviction. All keys of a sale share a hash tag, hence a
// slot. An ACL user needs no more than
//
//	~<namespace>:v1:stock:* +evalsha +eval +time +get +set +mget +incrby
//	+pexpire +pttl +del +unlink +exists +hkeys +hget +hmget +hset +hsetnx +hdel +hincrby +hlen +hexists +hgetall
//	+zadd +zrem +zcard +zscore +zrange +zrangebyscore +zscan
//
// +wait with Options.Replicas, and +hello, which every connection needs.
//
// # Events and HTTP
//
// Each new state of an order is an [Event]. It is written in the transaction that writes the
// order. The job of package events posts it to a webhook. Package stockhttp serves a sale over HTTP.
//
// Receivers are personal data. They are masked in errors, in logs, and wherever an
// [Order] is printed.
package stock
