// Package sms sends text messages that wait in an outbox in Redis.
//
// Anything may put messages into an [Outbox], at any time and from anywhere. The
// job that [Job] makes takes what is due, every five seconds on one node, and
// hands it to a [Gateway]: [HTTP], [Console], or your own.
//
// # What is promised
//
// A message is accepted once per id: accepting it again changes nothing, and the
// same id with other content is an error. What was accepted is not lost by a crash
// of any node; it is as durable as the Redis it is in.
//
//	queued ──take──▶ taken ──mark──▶ sent
//	   ▲               │ ├───mark──▶ failed (the gateway refused it for good)
//	   └─retry, wait───┘ └───mark──▶ expired (Message.Until came before that)
//
// An outage of the gateway loses nothing, however long it is. What the gateway says about
// us or itself (credentials, credit, rate, 5xx, no answer) pauses it for all nodes, from 5
// seconds to a minute, 5 minutes where messages may have been accepted, and as long as
// Retry-After asks up to an hour; it costs no message an attempt. See [HTTP], [Attempts]
// and [PausedError]. Messages that were refused before wait in a lane of their own, and have
// half of the requests at once at most. A pause may be the fault of the messages that were
// refused, where the gateway has not said that it refuses us or asked for time: each run then
// tries the latest message that was never refused, and ends the pause if it gets through. A
// message that cannot be read is put aside: see [Outbox.Broken].
//
// Take and mark are scripts that compare the run's fence with the highest one the
// outbox has seen. A process that was paused and wakes up late can neither take
// nor mark anything once a later run has begun: it gets [ErrFenced]. What a dead
// or paused run has left in taken, the next run takes over. An outbox belongs to
// one job: the fences of two do not compare.
//
// # When a message leaves
//
// Due messages leave by their [Priority], as fast as [Concurrency] and [Rate] allow, until
// nothing is due or the run's time is nearly over. Of [Message.Until], of [QuietHours] and of
// the lease each request is judged just before it begins, by the store's clock: no request
// begins for a message that may have expired, and none but for an urgent one while it is quiet.
// A gateway may deliver what it has accepted later than that.
//
// # Receipts
//
// A gateway says with a receipt whether a message has reached its recipient: see
// [Outbox.Receive] and [Receipts]. One that was delivered is not sent again, whatever became
// of the answer to its request.
//
// # What is not
//
// No system can send a text exactly once. A node that dies between a request and
// its mark leaves a message that may or may not have been sent; the next run
// sends it again. So may a request without an answer be repeated, and a process
// that was paused finish the one request it was in. Each request for a message
// carries the same key (Idempotency-Key: the message's id), by which a gateway
// can drop the repeats. At most one and a half times [DefaultConcurrency] messages, or
// of what [Concurrency] says, are between take and mark at a time, and
// [Record.Sends] and [Counts] show which messages this may have happened to.
//
// # The store
//
// The outbox needs Redis 6.2 or later: one server, Sentinel or Cluster, with an
// eviction policy of noeviction. All keys of a namespace share a hash tag, hence
// a slot. An ACL user needs no more than
//
//	~<namespace>:v1:sms:* +evalsha +eval +time +hget +hmget +hset +hdel +hscan
//	+zadd +zrem +zcard +zcount +zrange +zscore +zrangebyscore
//
// and +hello, which every connection needs. Every script may be sent twice, so
// the client's own retries do no harm.
//
// Messages that were sent or failed are kept for a week ([Options.Retention]) and
// then forgotten, a few with each run; an id is known for as long.
//
// Recipients are personal data: [Outbox.Forget] deletes all messages of one. They are masked in errors, in logs, and wherever
// a [Message] is printed.
package sms
