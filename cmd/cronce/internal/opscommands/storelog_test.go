package opscommands

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
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
	mu  sync.Mutex
	err error
}

func (s *away) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *away) Keys(ctx context.Context) ([]string, error) {
	if err := s.fault(); err != nil {
		return nil, err
	}
	return s.Store.Keys(ctx)
}

func (s *away) Members(ctx context.Context) (series.MemberList, error) {
	if err := s.fault(); err != nil {
		return series.MemberList{}, err
	}
	return s.Store.Members(ctx)
}

// A store that is away for two minutes and a half is logged at once and each minute after that, and its return once. Each time that it
// is away is logged anew.
func TestLogStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &away{Store: memlock.New(memlock.Options{})}
		p := ops.New(ops.Options{Store: s, Namespace: "shop"})
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		go p.Run(ctx)
		go logStore(ctx, p, slog.New(slog.NewTextHandler(&log, nil)))
		for range 2 {
			for _, c := range []struct {
				err        error
				takes      time.Duration
				away, back int // lines
			}{{nil, time.Minute, 0, 0}, {errors.New("no route"), 150 * time.Second, 3, 0}, {nil, 2 * time.Minute, 0, 1}} {
				s.mu.Lock()
				log.Reset()
				s.err = c.err
				s.mu.Unlock()
				time.Sleep(c.takes)
				synctest.Wait()
				if away, back := strings.Count(log.String(), "store unreachable"), strings.Count(log.String(), "store back"); away != c.away || back != c.back {
					t.Errorf("%d lines say that the store is away, and %d that it is back, want %d and %d:\n%s", away, back, c.away, c.back, log.String())
				}
			}
		}
		stop()
		synctest.Wait()
	})
}
