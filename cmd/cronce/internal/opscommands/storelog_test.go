package opscommands

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// away is a store that can be out of reach.
type away struct {
	ops.Store
	is atomic.Bool
}

var errNoRoute = errors.New("no route")

func (s *away) Keys(ctx context.Context) ([]string, error) {
	if s.is.Load() {
		return nil, errNoRoute
	}
	return s.Store.Keys(ctx)
}

func (s *away) Members(ctx context.Context) (series.MemberList, error) {
	if s.is.Load() {
		return series.MemberList{}, errNoRoute
	}
	return s.Store.Members(ctx)
}

// lines are a log.
type lines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text...)
	return len(text), nil
}

// take removes and returns the lines.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(l.text)
	l.text = nil
	return text
}

// A store that is away for two minutes and a half is logged at once and each minute after that, and its return once. Each time that it
// is away is logged anew.
func TestLogStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &away{Store: memlock.New(memlock.Options{})}
		p := ops.New(ops.Options{Store: s, Namespace: "shop"})
		var log lines
		ctx, stop := context.WithCancel(t.Context())
		go p.Run(ctx)
		go logStore(ctx, p, slog.New(slog.NewTextHandler(&log, nil)))
		for range 2 {
			for _, c := range []struct {
				is         bool
				takes      time.Duration
				away, back int // lines
			}{{false, time.Minute, 0, 0}, {true, 150 * time.Second, 3, 0}, {false, 2 * time.Minute, 0, 1}} {
				s.is.Store(c.is)
				time.Sleep(c.takes)
				synctest.Wait()
				text := log.take()
				if away, back := strings.Count(text, "store unreachable"), strings.Count(text, "store back"); away != c.away || back != c.back {
					t.Errorf("%d lines say that the store is away, and %d that it is back, want %d and %d:\n%s", away, back, c.away, c.back, text)
				}
			}
		}
		stop()
		synctest.Wait()
	})
}
