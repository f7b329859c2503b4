// Package requests measures what a node asks of its store: how long each request takes,
// and whether the store answered. It counts in atomics, so that no request waits for
// another or for a reader.
package requests

import (
	"math"
	"sync/atomic"
	"time"
)

// An Op is what a request asks.
type Op uint8

// The requests of a node.
const (
	Claim Op = iota
	Peek
	Open
	Renew
	End
	Beat
	Clock
	Journal
)

var ops = [...]string{"claim", "peek", "open", "renew", "end", "beat", "clock", "journal"}

// Bounds are the upper bounds of the buckets, in seconds. The last one is the default of
// Config.StoreTimeout.
var Bounds = [...]float64{.0005, .001, .0025, .005, .01, .05, .25, 2}

// A Result is whether the store answered a request.
type Result uint8

// The results.
const (
	Answered Result = iota
	Doubt           // an error, a timeout, or a reply that is no answer
)

var results = [...]string{"ok", "doubt"}

// Counts are the requests of a node so far. The zero Counts are empty. They are safe for
// concurrent use.
type Counts struct {
	requests [len(ops)][len(results)]histogram
	renewals [len(renewals)]atomic.Int64
}

// A histogram counts requests by how long they took.
type histogram struct {
	buckets [len(Bounds) + 1]atomic.Int64 // not cumulative; the last one is of what took longer
	micros  atomic.Int64
}

// add counts a request.
func (c *Counts) add(op Op, r Result, took time.Duration) {
	h := &c.requests[op][r]
	i := 0
	for i < len(Bounds) && took.Seconds() > Bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.micros.Add(took.Microseconds())
}

// A Measured is the requests of one kind with one result.
type Measured struct {
	Op, Result string
	Count      uint64
	Seconds    float64
	Within     map[float64]uint64 // how many took up to so many seconds, by Bounds
}

// Requests returns the requests of each kind and result, those without any included.
func (c *Counts) Requests() (all []Measured) {
	for op := range c.requests {
		for r := range c.requests[op] {
			h := &c.requests[op][r]
			m := Measured{Op: ops[op], Result: results[r], Within: map[float64]uint64{}}
			for i := range h.buckets {
				m.Count += uint64(h.buckets[i].Load())
				if i < len(Bounds) {
					m.Within[Bounds[i]] = m.Count
				}
			}
			m.Seconds = float64(h.micros.Load()) / math.Pow10(6)
			all = append(all, m)
		}
	}
	return all
}

// The results of a renewal: one request may renew many leases.
const (
	renewed = iota
	lost
	unanswered
)

var renewals = [...]string{"renewed", "lost", "doubt"}

// Renewals returns how many leases were renewed, how many renewals the store refused
// because the lease was lost, and how many it did not answer.
func (c *Counts) Renewals() map[string]int64 {
	all := map[string]int64{}
	for i := range c.renewals {
		all[renewals[i]] = c.renewals[i].Load()
	}
	return all
}
