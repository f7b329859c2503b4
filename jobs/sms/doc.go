// Package sms sends text messages that wait in an outbox in Redis.
//
// Any process may put messages into an [Outbox] at any time. The job of [Job] takes the due
// messages every five seconds on one node, and sends them through a [Gateway]: [HTTP],
// [Console], or your own.
//
// # Guarantees
//
// A message is accepted once per id: accepting it again changes nothing, and the
// same id with other content is an error. A crash of a node loses no accepted message.
// Messages are as durable as the Redis that holds them.
//
//	queued ──take──▶ taken ──mark──▶ sent
//	   ▲               │ ├───mark──▶ failed (the gateway refused it for good)
//	   └─retry, wait───┘ └───mark──▶ expired (Message.Until came before that)
//
// An outage of the gateway loses no message, however long it is. A reply that concerns the
// sender or the gateway (credentials, credit, rate, 5xx, no reply) pauses the gateway for all
// nodes: for 5 seconds to a minute, up to 5 minutes if messages may have been accepted, and
// for the Retry-After up to an hour. A pause costs no message an attempt. See [HTTP],
// [Attempts] and [PausedError].
//
// Messages that were refused wait in a lane of their own, and get at most half of the
// concurrent requests. If the gateway neither refused the sender nor asked for time, the
// refused messages themselves may be the reason of a pause. Each run then tries the latest
// message that was never refused, and ends the pause if that is accepted.
//
// A message that cannot be read is put aside: its state is [Broken].
//
// Take and mark are scripts that compare the run's fence with the highest one the
// outbox has seen. A process that was paused can neither take nor mark messages after a
// later run has begun: it gets [ErrFenced]. The next run takes over the messages that a dead
// or paused run has left in taken. An outbox belongs to one job, because the fences of two
// jobs cannot be compared.
//
// # When a message leaves
//
// Due messages leave in the order of [Message.At], as fast as [Concurrency] and [Rate] allow, until
// nothing is due or the run's time is nearly over. Just before each request the run checks
// its lease and, by the store's clock, [Message.Until]. No request begins for a message that
// may have expired. A gateway may deliver an accepted message later than that.
//
// # Receipts
//
// A gateway reports with a receipt whether a message has reached its recipient: see
// [Outbox.Receive] and [Receipts]. A delivered message is not sent again, even if the reply
// to its request was lost.
//
// # Repeated requests
//
// No system can send a text exactly once. If a node dies between a request and its mark, the
// message may have been sent, and the next run sends it again. A request without a reply is
// repeated, and a paused process finishes its current request. All requests for a message
// have the same Idempotency-Key (the message's id), by which a gateway can drop repeats. At
// most one and a half times [Concurrency] messages are between take and mark at a time.
// [Record.Sends] and [Counts] show which messages may have been repeated.
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
// then deleted, a few with each run. Their ids are known as long.
//
// Recipients are personal data: [Outbox.Forget] deletes all messages of one. They are masked
// in errors, in logs, and wherever a [Message] is printed.
package sms
