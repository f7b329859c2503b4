package zklock_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// The operations of requests.
const (
	create      = 1
	deletion    = 2
	setData     = 5
	getChildren = 12
	setAuth     = 100
)

// A before is a connection that calls a function before it sends a request with an operation and a path
// that contains a text.
type before struct {
	net.Conn
	op   uint32
	text string
	call func()
}

func (c *before) Write(b []byte) (int, error) {
	// A request is its length, its number, its operation, and the path.
	if len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) == c.op && bytes.Contains(b, []byte(c.text)) {
		c.call()
	}
	return c.Conn.Write(b)
}

// beforeEach returns a function for Options.Dial.
func beforeEach(op uint32, text string, call func()) func(network, address string, timeout time.Duration) (net.Conn, error) {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		return &before{c, op, text, call}, err
	}
}

func beforeFirst(op uint32, text string, call func()) func(network, address string, timeout time.Duration) (net.Conn, error) {
	var once sync.Once
	return beforeEach(op, text, func() { once.Do(call) })
}

// Three owners share a key. The third stores a fence above the natural ones right before the second takes
// the key, which thus has the highest fence.
func TestFenceIsStoredMeanwhile(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	share := func(d *zklock.Driver, owner string, fence int64) int64 {
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "k", Owner: owner, TTL: time.Minute, Limit: 3, Fence: fence})
		if err != nil {
			t.Errorf("%s: %v", owner, err)
		}
		return g.Fence
	}
	first, stored := share(other, "a/1", 0), int64(0)
	d := newDriver(t, addr, zklock.Options{Session: time.Minute, Dial: beforeFirst(setData, "/locks/k/b", func() {
		stored = share(other, "c/1", first+1e6) // more changes than the tests make meanwhile
	})})
	if g := share(d, "b/1", 0); stored <= first || g <= stored {
		t.Errorf("the fences are %d, then %d, then %d", first, stored, g)
	}
}

// The holder leaves after a waiter that may share the key has read the queue, and before it watches the
// queue: the waiter is granted the key.
func TestHolderLeavesBeforeTheWatch(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	writer := driver.Acquisition{Key: "k", Owner: "w/1", TTL: time.Minute}
	held, err := other.Acquire(t.Context(), writer)
	must(t, err)
	const watched = "/locks/k\x01"
	d := newDriver(t, addr, zklock.Options{Session: time.Minute, Dial: beforeFirst(getChildren, watched, func() {
		if err := other.Release(t.Context(), holding(writer, held)); err != nil {
			t.Errorf("the release: %v", err)
		}
	})})
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
	defer stop()
	g, err := d.Wait(ctx, driver.Acquisition{Key: "k", Owner: "r/1", TTL: time.Minute, Limit: 2})
	must(t, err)
	if g.Fence <= held.Fence {
		t.Errorf("the fence is %d after %d", g.Fence, held.Fence)
	}
}

// A node that has been gone for a day is removed from the list, unless it beats again before it is removed.
func TestMemberBeatsMeanwhile(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	for _, beats := range []bool{true, false} {
		beat := func() {
			if _, err := other.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Second}); err != nil {
				t.Errorf("a beat: %v", err)
			}
		}
		beat()
		d := newDriver(t, addr, zklock.Options{Session: time.Minute, Dial: beforeFirst(deletion, "/nodes/n", func() {
			if beats {
				beat()
			}
		})})
		_, err := d.TidyMembers(now(t, d).Add(series.GoneFor + time.Minute).UnixMilli())
		must(t, err)
		l, err := other.Members(t.Context())
		must(t, err)
		if there := len(l.Members) == 1; there != beats {
			t.Errorf("a node that beats meanwhile (%v) is in the list: %v", beats, there)
		}
	}
}

// The caller of a batch leaves during the first of its two writes: the second is not sent.
func TestCallerLeavesBetweenTwoWrites(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	begin := now(t, other).Add(-time.Hour).UnixMilli()
	o := other.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: "r1", Begin: begin}})
	must(t, o[0].Err)
	ctx, stop := context.WithCancel(t.Context())
	var writes atomic.Int32
	d := newDriver(t, addr, zklock.Options{Session: time.Minute, Dial: beforeEach(setData, "/series/job", func() {
		writes.Add(1)
		stop()
	})})
	cs := make([]series.Claim, 300) // more than one write answers
	for i := range cs {
		cs[i] = claimOf("job", fmt.Sprint("n/", i), o[0].Mark+1+int64(i))
		cs[i].Deadline = 0 // missed: the lines fold
	}
	d.Claim(ctx, cs)
	d.Finished()
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes were sent, want the one that was sent before its caller left", n)
	}
}

// Two runs of a series end at the same time, and the second has stored its output when the first is about
// to create or to write the node of the outputs: both are kept.
func TestTwoOutputsAtOnce(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	due := open(t, other, "job")
	for i, write := range []uint32{create, setData} {
		first := due + 2*int64(i)
		keep := func(d *zklock.Driver, number int64) {
			if err := d.KeepOutput(t.Context(), series.Output{Key: "job", Number: number, Fence: 1, Text: "text"}); err != nil {
				t.Errorf("output %d: %v", number, err)
			}
		}
		keep(newDriver(t, addr, zklock.Options{Session: time.Minute, Dial: beforeFirst(write, "/outputs", func() { keep(other, first+1) })}), first)
		for number := due; number <= first+1; number++ {
			if o, err := other.Output(t.Context(), "job", number); err != nil || o.Text != "text" {
				t.Errorf("output %d is %+v, %v", number, o, err)
			}
		}
	}
}

// The oldest records of an audit are removed while it is read: the others are returned.
func TestAuditWithoutARecord(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op, d := operator(t, addr), newDriver(t, addr, zklock.Options{})
	open(t, d, "job")
	for i, action := range []series.Action{series.ActionPause, series.ActionResume} {
		must(t, d.Control(t.Context(), series.Control{Key: "job", Action: action, Op: fmt.Sprint(i), Who: "ann", Reason: "maintenance", Seen: series.AnySeen}).Err)
	}
	if err := op.Delete("/"+space(t)+"/v1/audit/1", -1); !errors.Is(err, zk.ErrNoNode) { // with -count it is gone already
		must(t, err)
	}
	if all, err := d.Audit(t.Context(), "", 0); err != nil || len(all) != 1 || all[0].Number != 2 {
		t.Errorf("the records are %+v, %v, want number 2", all, err)
	}
}

// A node of the audit that cannot be read is named, and the records of the others stay readable. Changes are refused
// while the number of the newest record is not known.
func TestDamagedAudit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, data, named string
		records           int // that can be read
	}{
		"a record":                     {"/1", "\x00garbage", `"\x00garbage"`, 1},
		"a record is empty":            {"/1", "", `""`, 1},
		"the newest number":            {"", "many", `/v1/audit is "many"`, 2},
		"the newest number is emptied": {"", "", `/v1/audit is ""`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, ns := zkserver.Shared(t), fresh()
			op, d := operator(t, addr), newDriver(t, addr, zklock.Options{Namespace: ns})
			open(t, d, "job")
			change := func(action series.Action) error {
				return d.Control(t.Context(), series.Control{Key: "job", Action: action, Op: string(action), Who: "ann", Reason: "maintenance", Seen: series.AnySeen}).Err
			}
			must(t, errors.Join(change(series.ActionPause), change(series.ActionResume)))
			_, err := op.Set("/"+ns+"/v1/audit"+c.path, []byte(c.data), -1)
			must(t, err)
			all, err := d.Audit(t.Context(), "", 0)
			must(t, err)
			var named string
			records := 0
			for _, r := range all {
				if r.Unreadable == "" {
					records++
				}
				named += r.Unreadable
			}
			if records != c.records || len(all) != c.records+1 || !strings.Contains(named, c.named) {
				t.Errorf("the records are %+v, want %d and %s", all, c.records, c.named)
			}
			if one, err := d.Audit(t.Context(), "job", 0); err != nil || !slices.Equal(one, all) { // what cannot be read may be of the job
				t.Errorf("the records of the job are %+v, %v, want %+v", one, err, all)
			}
			if err := change(series.ActionRetire); errors.Is(err, driver.ErrUnreadable) != (c.path == "") {
				t.Errorf("a change is answered %v", err)
			}
		})
	}
}
