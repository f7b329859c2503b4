package redislock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// An operation runs one script for many requests of one kind.
type operation[Q, A any] struct {
	name   string
	script func(*scripts) *script
	key    func(*Q) string
	begin  func(*Driver, *request)                     // adds the keys and arguments before the requests
	add    func(*request, string, *Q)                  // adds one request, with its name in keys
	read   func(now instant, s string, q *Q) (A, bool) // reads one answer
	doubt  func(q *Q, err error) A                     // returns the answer to a request without a reply
	rest   func(context.Context, *Driver, int, string) // processes the text after the answers; nil: there is none
	want   func(q *Q) (replicas int, ttl time.Duration)

	refused func(error) error // wraps the error about a request that the script could not answer; nil: the script may have written something all the same
}

// A part is the requests of one run of a script, all of one partition. Requests with different numbers
// of replicas are in different parts, so that one job's wait for its replicas delays no other.
type part struct {
	partition int
	replicas  int           // that must have the writes
	ttl       time.Duration // the shortest of the requests
	at        []int
}

// send answers all requests, in their order: the requests of one partition share a script, and the
// scripts run concurrently.
func (op *operation[Q, A]) send(ctx context.Context, d *Driver, qs []Q) []A {
	answers := make([]A, len(qs))
	sideBySide(op.split(d, qs), func(p part) { op.serve(ctx, d, p, qs, answers) })
	return answers
}

// sideBySide serves all parts concurrently.
func sideBySide(parts []part, serve func(part)) {
	if len(parts) == 1 {
		serve(parts[0])
		return
	}
	var wg sync.WaitGroup
	for _, p := range parts {
		wg.Go(func() { serve(p) })
	}
	wg.Wait()
}

// split sorts requests into parts.
func (op *operation[Q, A]) split(d *Driver, qs []Q) []part {
	var parts []part
	filling := make([]int, len(d.keys.partitions)) // 1 + the index of the partition's latest part without replicas
	var others waitings                            // the same for parts with replicas
	for i := range qs {
		partition := d.keys.partition(op.key(&qs[i]))
		replicas, ttl := 0, time.Duration(0)
		if op.want != nil {
			replicas, ttl = op.want(&qs[i])
		}
		latest := &filling[partition]
		if replicas > 0 {
			latest = others.of(partition, replicas)
		}
		if *latest == 0 || len(parts[*latest-1].at) == maxBatch {
			parts = append(parts, part{partition: partition, replicas: replicas, ttl: ttl, at: make([]int, 0, min(maxBatch, len(qs)-i))})
			*latest = len(parts)
		}
		p := &parts[*latest-1]
		p.at, p.ttl = append(p.at, i), min(p.ttl, ttl)
	}
	return parts
}

// waitings are the latest parts with replicas, by partition and number of replicas.
type waitings []struct{ partition, replicas, latest int }

func (w *waitings) of(partition, replicas int) *int {
	for i := range *w {
		if o := &(*w)[i]; o.partition == partition && o.replicas == replicas {
			return &o.latest
		}
	}
	*w = append(*w, struct{ partition, replicas, latest int }{partition: partition, replicas: replicas})
	return &(*w)[len(*w)-1].latest
}

// serve answers a part and returns the outcome of its script.
func (op *operation[Q, A]) serve(ctx context.Context, d *Driver, p part, qs []Q, answers []A) outcome {
	texts, s, err := d.reply(ctx, op.script(d.scripts), op.request(d, p, qs), p)
	var now instant
	if d.notDone(err) {
		err = driver.NotDone(err)
	}
	if err == nil {
		now, err = op.shape(texts, len(p.at))
	}
	if err != nil {
		err = fmt.Errorf("redislock: %s: %w", op.name, err)
	}
	for k, i := range p.at {
		if err != nil {
			answers[i] = op.doubt(&qs[i], err)
			continue
		}
		answers[i] = op.answer(now, texts[1+k], &qs[i])
	}
	if err == nil && op.rest != nil {
		op.rest(ctx, d, p.partition, texts[len(texts)-1])
	}
	return s
}

// request returns the request for the script of a part.
func (op *operation[Q, A]) request(d *Driver, p part, qs []Q) *request {
	r := d.newRequest(p.partition)
	op.begin(d, r)
	for _, i := range p.at {
		op.add(r, escape(op.key(&qs[i])), &qs[i])
	}
	return r
}

// shape checks a reply as a whole and returns the store's clock.
func (op *operation[Q, A]) shape(texts []string, n int) (instant, error) {
	want := 1 + n
	if op.rest != nil {
		want++
	}
	if len(texts) != want {
		return 0, fmt.Errorf("%w: %d parts, want %d", errUnreadable, len(texts), want)
	}
	return readClock(texts[0])
}

func (op *operation[Q, A]) answer(now instant, text string, q *Q) A {
	if len(text) > 0 && text[0] == '!' {
		err := refusalOf(text[1:])
		if op.refused != nil {
			err = op.refused(err)
		}
		return op.doubt(q, fmt.Errorf("redislock: %s %q: %w", op.name, op.key(q), err))
	}
	a, ok := op.read(now, text, q)
	if !ok {
		return op.doubt(q, fmt.Errorf("%w: %w", driver.ErrUnreadable, unreadable(op.name, text)))
	}
	return a
}

// refusalOf returns the error of a script that could not answer one request of several. The first
// words of an error about the server as a whole are known; any other error is about the key.
func refusalOf(text string) error {
	for _, whole := range append([]string{"OOM", "MISCONF", "READONLY", "NOREPLICAS"}, denials...) {
		if strings.HasPrefix(text, whole) {
			return errors.New(text)
		}
	}
	return fmt.Errorf("%w: %s", driver.ErrUnreadable, text)
}

// reply runs a script that returns lines, and returns the lines.
func (d *Driver) reply(ctx context.Context, s *script, r *request, p part) ([]string, outcome, error) {
	answer, err := d.runAlone(ctx, s, r, p.replicas, p.ttl)
	if err != nil {
		return nil, answer, err
	}
	text, ok := answer.reply.(string)
	if !ok {
		return nil, answer, fmt.Errorf("%w: %.80q", errUnreadable, fmt.Sprint(answer.reply))
	}
	return strings.Split(text, "\n"), answer, nil
}
