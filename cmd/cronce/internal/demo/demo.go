// Package demo starts node processes, kills some of them, prints their logs together, and proves
// afterwards that each tick has one verdict.
package demo

import (
	"context"
	_ "embed" // for File
	"errors"
	"io"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// File is the configuration of the nodes. Flags name the Redis.
//
//go:embed demo.yaml
var File []byte

// FileName is the name of File in faults.
const FileName = "demo.yaml"

// Jobs are the names of the jobs of File, with a description of each.
var Jobs = [][2]string{
	{"sendSms", "sends what is due in the outbox, each message once"},
	{"every-2s", "the same instants on every node, whenever it was started"},
	{"overlap", "runs longer than its interval: ticks in between are skipped"},
	{"takeover", "runs longer than its lease; if its node is killed, another runs it again"},
}

// Options are the options of a demo.
type Options struct {
	Duration  time.Duration
	Nodes     int
	Redis     string        // the URL of a real Redis; empty: one inside this process
	KillEvery time.Duration // 0: never
	JSON      bool          // print for machines
}

// A Cluster is the environment of a demo: a namespace of its own in a Redis.
type Cluster struct {
	Namespace string
	RedisName string // without any secret
	Client    redis.Cmdable
	Close     func()                                   // closes the client
	Outbox    *sms.Outbox                              // the outbox of the namespace
	Node      func(name string) *exec.Cmd              // returns a process of a node with File
	Prove     func(ctx context.Context) (Proof, error) // verifies that each tick has one verdict
	Failed    func(err error) error                    // adds the name of the Redis and the cause to an error

	// Pages shows the cluster in a browser until ctx ends, and calls open with the address. Nil: no
	// pages.
	Pages func(ctx context.Context, open func(url string)) error
}

// A Proof is the result of verifying the journal.
type Proof struct {
	OK     bool
	Report any                   // for machines
	Print  func(io.Writer) error // for a person
}

// ErrBroken is the error of a demo in which an invariant is broken.
var ErrBroken = errors.New("an invariant is broken")

// Run runs nodes until ctx ends or the time is over, prints their logs to w, and verifies their
// journal. Open opens the cluster on the Redis at a URL; embedded reports that the Redis is inside
// this process. Run returns ErrBroken after it has printed everything. When it returns, no node and
// no key of the demo is left.
func Run(ctx context.Context, o Options, w io.Writer, open func(url string, embedded bool) (*Cluster, error)) (err error) {
	s, err := openStore(o.Redis, open)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.fill(ctx); err != nil {
		return err
	}
	log := newLogView(w, o.JSON)
	log.intro(&o, s)
	pages, err := s.servePages(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pages()) }()
	nodes := &nodes{command: s.Node, log: log, ended: make(chan *node, 1)}
	defer nodes.kill()
	began := time.Now()
	err = nodes.show(ctx, &o)
	nodes.drain()
	if err != nil {
		return err
	}
	return s.report(log, nodes, time.Since(began))
}
