// Package stock sells products of which there are only so many, and never more.
//
// A [Sale] keeps stock and orders in Redis. [Sale.Put] puts a product in;
// [Sale.Reserve] takes an order's items out of stock, all or none, in one script;
// [Sale.Pay] makes them sold, [Sale.Cancel] puts them back, and so does time.
//
//	reserved ──▶ paying ──pay──▶ paid ──▶ returned ──▶ refunded
//	    ├──────────pay────────────┘
//	    ├──cancel▶ cancelled
//	    └──time──▶ expired
//
// For every product, at every moment, stock + reserved + sold = what was put in,
// and none is negative. No lock is taken for that, and none would be enough: what
// keeps the promise is that each change is one step of the store, which checks and
// writes at once.
//
// # Idempotence
//
// An order has an id that the buyer's side chooses. Every call may be repeated
// with it, after a lost reply or a crash, and answers the same: nothing is taken
// twice. Closed orders are known for a week after they were settled
// ([Options.Retention]); with [Options.Book] what became of older ones is looked up
// there. A refused order is not remembered.
//
// # What accepted means
//
// An answer without an error says that the store has done it. How much that is
// worth is the store's configuration:
//
//   - No persistence: a restart of the server loses everything.
//   - appendonly yes, appendfsync everysec: a killed server loses nothing as a
//     rule, but up to two seconds when its disk was busy syncing; a machine that
//     loses power loses as much.
//   - appendonly yes, appendfsync always: neither loses anything.
//   - A failover loses what had not reached the promoted replica. With
//     [Options.Replicas] at n the answer waits until n replicas have it, or is
//     [ErrUnconfirmed]: with n = all of them, none that can be promoted lacks it.
//
// # When the store loses data
//
// With [Options.Book] the database is the book, and the store a shelf that is built
// from it. A store that has less than the book, or than it has answered to this process,
// closes the sale: everything that would change it is an [ErrStockUnknown], until
// [Sale.Restore] has rebuilt the shelf. [Sale.Watch] compares the two each second.
// Without a book a store that forgot is filled and sold again.
//
// # The store
//
// The sale needs Redis 6.2 or later: one server, Sentinel or Cluster, with an
// eviction policy of noeviction. All keys of a sale share a hash tag, hence a
// slot. An ACL user needs no more than
//
//	~<namespace>:v1:stock:* +evalsha +eval +time +get +set +mget +incrby
//	+pexpire +pttl +persist +del +unlink +exists +hkeys +hget +hmget +hset +hsetnx +hdel +hincrby +hlen +hexists +hgetall +hscan
//	+zadd +zrem +zcard +zscore +zrange +zrangebyscore +zrangebylex
//
// +wait with Options.Replicas, +xadd +xinfo +xrange with a Stream, and +hello, which every
// connection needs.
//
// # Events
//
// Each state that an order comes into is an [Event], written in the transaction that writes the
// order, and delivered to each [Target] by a job of its own: [DeliverEvents]. A [Stream] is a
// stream of Redis, a [Webhook] is posted to, and [Texts] go to the phones of buyers.
//
// Receivers and phones are personal data. They are masked in errors, in logs, and wherever an
// [Order] is printed.
package stock
