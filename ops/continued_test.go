package ops

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A journal that was read before is read from its last lines, and equals a reading of the whole.
func TestContinued(t *testing.T) {
	journal := func(lines string) (j series.Journal) {
		for i, text := range strings.Split(lines, "") {
			if text != "?" {
				j.Lines = append(j.Lines, series.Line{At: int64(i + 1), Node: text})
			} else {
				j.Lines = append(j.Lines, series.UnreadableLine(text))
			}
		}
		return j
	}
	for _, c := range []struct{ before, store, want string }{
		{"abcd", "abcd", "abcd"},
		{"abcd", "abcde", "abcde"},
		{"abcde", "abcdE", "abcdE"},          // the newest line has grown
		{"abcdefgh", "abcdEfgh", "abcdEfgh"}, // no such thing is written: but then all are read
		{"abcdefgh", "abcdef", "abcdef"},     // a failover has lost the last ones
		{"abcdefgh", "abcdeXYZ", "abcdeXYZ"}, // and others came
		{"abcd", "abcdefghi", "abcdefghi"},   // more came than are read first
		{"abcdefgh", "ABCDEFGH", "ABCDEFGH"}, // another job of this name
		{"a?cdefgh", "a?cdefghi", "a?cdefghi"},
		{"abcdefgh", "abcdef?h", "abcdef?h"},
	} {
		before, store := journal(c.before), journal(c.store)
		tail := store
		tail.Lines = store.Lines[max(0, len(store.Lines)-tailLines):]
		got, ok := continued(&before, tail)
		if !ok {
			got = store
		}
		if text := fmt.Sprint(got.Lines); text != fmt.Sprint(journal(c.want).Lines) {
			t.Errorf("%s, then %s: %s", c.before, c.store, text)
		}
	}
}

// A linedStore keeps how many lines each journal was asked for, and may fail to read it.
type linedStore struct {
	*flakyStore
	mu    sync.Mutex
	fails bool
	asked []int
}

func (s *linedStore) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, n)
	if s.fails {
		return series.Journal{}, errSilent
	}
	return s.flakyStore.Journal(ctx, key, n)
}

// Of a job that was read before, a refresh reads its last lines alone. While they cannot be read the job is shown as it was.
func TestLastLinesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &linedStore{flakyStore: opened(t, "report", "other")}
		p := newProjection(s)
		for i := range 30 {
			time.Sleep(5 * time.Second)
			s.decide(t, "report", series.OutcomeOK)
			now := p.Refresh(t.Context()).Job("report")
			if want := min(i+2, mostLines); len(now.Journal.Lines) != want {
				t.Fatalf("after %d ticks %d lines are in memory, want %d", i+1, len(now.Journal.Lines), want)
			}
		}
		for _, n := range s.asked[len(s.asked)-20:] {
			if n != tailLines {
				t.Errorf("a refresh asks for %d lines: %v", n, s.asked)
				break
			}
		}
		time.Sleep(5 * time.Second)
		s.decide(t, "report", series.OutcomeFailed)
		for _, fails := range []bool{true, false} {
			s.fails = fails
			now := p.Refresh(t.Context()).Job("report")
			if lines := 31 + map[bool]int{false: 1}[fails]; len(now.Journal.Lines) != lines || now.current() == fails {
				t.Errorf("fails %v: %d lines are in memory, want %d: %v", fails, len(now.Journal.Lines), lines, now.Series.Err)
			}
		}
	})
}
