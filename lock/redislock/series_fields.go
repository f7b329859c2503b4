package redislock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var errUnreadable = errors.New("a reply that cannot be read")

// unreadable returns the doubt about a reply that the script cannot have returned.
func unreadable(operation string, reply any) error {
	text := fmt.Sprintf("%q", fmt.Sprint(reply))
	return fmt.Errorf("redislock: %s: %w: %s", operation, errUnreadable, text[:min(len(text), 200)])
}

// fields reads a text from left to right. After a fault bad is set, and all later fields are zero.
type fields struct {
	rest string
	bad  bool
}

// text returns the field before the next separator, which must exist.
func (f *fields) text() string {
	s, rest, found := strings.Cut(f.rest, "|")
	if !found || f.bad {
		f.bad = true
		return ""
	}
	f.rest = rest
	return s
}

// end returns the rest as the last field.
func (f *fields) end() string {
	s := f.rest
	f.rest = ""
	if strings.IndexByte(s, '|') >= 0 {
		f.bad = true
	}
	return s
}

// raw undoes the escapes of a field.
func (f *fields) raw(s string) string {
	s, ok := driver.Unescape(s)
	f.bad = f.bad || !ok
	return s
}

// number reads a field that is a number of decimal digits.
func (f *fields) number(s string) int64 {
	if f.bad || s == "" || s[0] == '+' {
		f.bad = true
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f.bad = true
	}
	return n
}

// count reads a number that is not negative.
func (f *fields) count(s string) int64 {
	n := f.number(s)
	f.bad = f.bad || n < 0
	return n
}

// optional is count, but an empty field is 0.
func (f *fields) optional(s string) int64 {
	if s == "" {
		return 0
	}
	return f.count(s)
}

// letter reads a field of one byte.
func (f *fields) letter(s string) byte {
	if len(s) != 1 {
		f.bad = true
		return 0
	}
	return s[0]
}

// states are the states of runs by letter; other letters are RunNone.
var states = [256]series.RunState{
	'o': series.RunOpen, 'b': series.RunGivenBack, 'u': series.RunUnstarted,
	'w': series.RunWaiting, 'd': series.RunDone, 'l': series.RunLost,
}

// readRun reads a stored run, without the semicolon before it.
func readRun(s string) (series.Run, bool) {
	f := fields{rest: s}
	var r series.Run
	r.Number = f.count(f.text())
	r.State = states[f.letter(f.text())]
	r.Owner = f.raw(f.text())
	r.Fence = f.count(f.text())
	r.Attempt = int(f.count(f.text()))
	r.Granted = f.count(f.text())
	r.Until = f.count(f.text())
	rest, shards, sharded := strings.Cut(f.rest, "*")
	end, request, manual := strings.Cut(rest, "|")
	ok := true
	if sharded {
		r.Shards, ok = readCount(shards)
	}
	var good bool
	r.Replaced, r.Cancelled, good = readEnd(f.letter(end))
	ok = ok && good
	if manual {
		ok = ok && readRequest(&r, request)
	}
	return r, ok && !f.bad && r.State != series.RunNone
}

// readRequest reads the end of a manual run: start by, and of a backfill |for|room.
func readRequest(r *series.Run, text string) bool {
	f := fields{rest: text}
	start, backfill, of := strings.Cut(text, "|")
	r.StartBy = f.count(start)
	if of {
		f.rest = backfill
		r.For, r.Room = f.count(f.text()), f.count(f.end())
	}
	return !f.bad && r.StartBy > 0 && of == (r.For > 0)
}

// readEnd reads why the holder of a run must end it: 0 it need not, 1 replaced, 2 cancelled, 3 both.
func readEnd(letter byte) (replaced, cancelled, ok bool) {
	end := letter - '0'
	return end&1 != 0, end&2 != 0, end <= 3
}
