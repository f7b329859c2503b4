package sms

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/cronce/cronce/scheduler"
)

// The job, and the defaults of its options.
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
	lease          = 5 * time.Second // a dead node's messages wait no longer
	timeout        = time.Minute
)

// An Option changes how the job sends.
type Option func(*sender)

// Batch is how many messages one run sends at most: 1 to 1,000,000, a value
// outside is moved to the nearest inside. A run also ends when nothing is due, and takes
// nothing in the last quarter of its time (Job.Timeout). Without it: DefaultBatch.
func Batch(n int) Option { return func(s *sender) { s.batch = min(max(1, n), 1_000_000) } }

// Rate is how many requests are made in a second at most, evenly: 1 to 10,000, a value
// outside is moved to the nearest inside. Each process keeps to it by itself: when a run
// follows one of another node, or overtakes a paused one, two requests may be closer.
// Without it: as many as Concurrency allows.
func Rate(perSecond int) Option {
	return func(s *sender) { s.pace = rate.NewLimiter(rate.Limit(min(max(1, perSecond), maxRate)), 1) }
}

// Quiet keeps all but urgent messages back in a part of each day. It panics for hours that
// are no times of a day.
func Quiet(q QuietHours) Option {
	q.validate()
	return func(s *sender) { s.quiet = q }
}

// Concurrency is how many messages are sent at the same time: 1 to 100, a value outside is
// moved to the nearest inside. A run takes half as many more in advance; all of them may be
// sent again after a crash. Without it: DefaultConcurrency.
func Concurrency(n int) Option {
	return func(s *sender) { s.concurrency = min(max(1, n), maxConcurrency) }
}

// Attempts is in how many runs a message may be refused before it counts as failed: 1
// or more, a smaller value is 1. A run counts only if other messages got through in it
// and this one may have been accepted all the same (500, 502, 504, no answer, an error
// that is no *GatewayError): without an end its recipient might get it again and again.
// A fault of this side or of the gateway never counts. The pauses between runs grow from 5 s
// to 15 min, so that the default is over after about three hours. Without it:
// DefaultAttempts.
func Attempts(n int) Option { return func(s *sender) { s.attempts = min(max(1, n), maxAttempts) } }

// Job is the job sendSms: each run sends what is due in the outbox. Its fields may be changed before it is registered. It takes over the
// tick of a dead node, since what was sent is not sent again, and its lease is
// short so that this is soon. A run fails, in the log, when a message has to wait
// for another run because the gateway did not accept it, or is paused. It panics without an
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
