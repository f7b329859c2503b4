// Package requests measures the requests of a node to its store: how long each takes, and whether
// the store answered. It counts in atomics, so that no request waits for another or for a reader.
package requests

import (
	"math"
	"sync/atomic"
	"time"
)

// An Op is the operation of a request.
type Op uint8

// Operations of requests.
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

// A Result records whether the store answered a request.
type Result uint8

// Results of requests.
const (
	Answered Result = iota
	Doubt           // an error, a timeout, or an invalid reply
)

var results = [...]string{"ok", "doubt"}

// Counts counts the requests of a node. The zero Counts is empty. It is safe for concurrent use.
type Counts struct {
	requests [len(ops)][len(results)]histogram
	renewals [len(renewals)]atomic.Int64
}

// A histogram counts requests by their duration.
type histogram struct {
	buckets [len(Bounds) + 1]atomic.Int64 // not cumulative; the last bucket has the requests above all bounds
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

// A Measured has the requests of one kind with one result.
type Measured struct {
	Op, Result string
	Count      uint64
	Seconds    float64
	Within     map[float64]uint64 // the number of requests that took at most this many seconds, by Bounds
}

// Requests returns the requests of every kind and result, including those without any.
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

// Results of a renewal: one request may renew many leases.
const (
	renewed = iota
	lost
	unanswered
)

var renewals = [...]string{"renewed", "lost", "doubt"}

// Renewals returns the number of renewed leases, of renewals that the store refused because the
// lease was lost, and of renewals that it did not answer.
func (c *Counts) Renewals() map[string]int64 {
	all := map[string]int64{}
	for i := range c.renewals {
		all[renewals[i]] = c.renewals[i].Load()
	}
	return all
}
