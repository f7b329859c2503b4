package sms

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/cronce/cronce/scheduler"
)

// The name and spec of the job, and defaults of its options.
const (
	JobName            = "sendSms"
	JobSpec            = "0/5 * * * * ?" // every five seconds
	DefaultBatch       = 100_000
	DefaultConcurrency = 8
	DefaultAttempts    = 20
)

const (
	maxConcurrency = 100
	maxRate        = 10_000
	lease          = 5 * time.Second // the messages of a dead node wait at most this long
	timeout        = time.Minute
)

// An Option changes how the job sends.
type Option func(*sender)

// Batch bounds the messages of one run: 1 to 1,000,000; a value outside is moved to the nearest
// bound. A run also ends when nothing is due, and takes no message in the last quarter of its time
// (Job.Timeout). Default: DefaultBatch.
func Batch(n int) Option { return func(s *sender) { s.batch = min(max(1, n), 1_000_000) } }

// Rate bounds the requests per second, evenly spread: 1 to 10,000; a value outside is moved to the
// nearest bound. Each process applies it by itself, so two requests may be closer when the runs of
// two nodes follow each other. Default: no bound but Concurrency.
func Rate(perSecond int) Option {
	return func(s *sender) { s.pace = rate.NewLimiter(rate.Limit(min(max(1, perSecond), maxRate)), 1) }
}

// Concurrency bounds the messages that are sent at the same time: 1 to 100; a value outside is
// moved to the nearest bound. A run takes half as many more in advance. After a crash all of them
// may be sent again. Default: DefaultConcurrency.
func Concurrency(n int) Option {
	return func(s *sender) { s.concurrency = min(max(1, n), maxConcurrency) }
}

// Attempts is the number of runs in which a message may be refused before it fails: 1 or more; a
// smaller value is 1. A run counts only if other messages got through in it and this one may have
// been accepted (500, 502, 504, no reply, an error that is no *GatewayError). Without a bound its
// recipient might get such a message again and again. A fault of the sender or of the gateway never
// counts. The pauses between runs grow from 5 s to 15 min, so that the default ends after about
// three hours. Default: DefaultAttempts.
func Attempts(n int) Option { return func(s *sender) { s.attempts = min(max(1, n), maxAttempts) } }

// Job returns the job sendSms: each run sends the due messages of the outbox. Its fields may be
// changed before it is registered. It takes over the tick of a dead node, since sent messages are
// not sent again, and its lease is short so that this happens soon. A run fails if a message has to
// wait for another run because the gateway did not accept it or is paused. It panics without an
// outbox or a gateway.
func Job(o *Outbox, g Gateway, options ...Option) scheduler.Job {
	if o == nil || g == nil {
		panic("sms: Job needs an outbox and a gateway")
	}
	s := newSender(o, g, options...)
	return scheduler.Job{
		Name:     JobName,
		Spec:     JobSpec,
		Func:     s.run,
		Takeover: scheduler.TakeoverRerun,
		Timeout:  timeout,
		Lease:    lease,
	}
}

func newSender(o *Outbox, g Gateway, options ...Option) *sender {
	s := &sender{outbox: o, gateway: g, batch: DefaultBatch, concurrency: DefaultConcurrency, attempts: DefaultAttempts,
		pace: rate.NewLimiter(rate.Inf, 0)}
	for _, option := range options {
		option(s)
	}
	return s
}
