package oversell_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// The strategies that oversell must do so: if one of them is exact where its
// buyers are made to meet, the test is broken.

// meeting is work at which n buyers wait for each other, again and again: none
// writes before n have read.
func meeting(n int) oversell.Work {
	var mu sync.Mutex
	waiting, met := 0, make(chan struct{})
	return func(ctx context.Context) error {
		mu.Lock()
		here := met
		if waiting++; waiting == n {
			waiting, met = 0, make(chan struct{})
			close(here)
		}
		mu.Unlock()
		select {
		case <-here:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// letIn lets buyers in at several strategies at once, two to each.
func letIn(t *testing.T, buyers int, strategies ...oversell.Strategy) (answers []oversell.Answers) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	replies := make(chan oversell.Answers)
	for i, s := range strategies {
		var ids []string
		for n := range buyers {
			ids = append(ids, string(rune('a'+i))+string(rune('0'+n)))
		}
		c := oversell.NewBuyers(s, ids)
		go func() { replies <- c.Start(ctx) }()
	}
	for range strategies {
		answers = append(answers, <-replies)
	}
	return answers
}

func shelf(t *testing.T, addr string, stock int) *oversell.RedisShelf {
	t.Helper()
	s := oversell.NewRedisShelf(client(t, addr), "wrong", "product")
	must(t, s.Fill(t.Context(), stock))
	return s
}

// Ten buyers read five before one of them writes: ten are sold, and the shelf says four.
func TestNoneOversells(t *testing.T) {
	s := shelf(t, small(t), 5)
	answers := letIn(t, 10, &oversell.None{Shelf: s, Work: meeting(10)})
	if r := sum(t, s, "none", 5, answers...); r.Sold != 10 || r.Orders != 10 || r.Oversold != 5 || r.Left != 4 || r.Exact {
		t.Errorf("%v: %+v", &r, r)
	}
}

// A mutex in each of two processes: buyers of the two meet, two by two, and each
// item is sold twice.
func TestMutexOversellsAcrossProcesses(t *testing.T) {
	s, work := shelf(t, small(t), 2), meeting(2)
	one := &oversell.Mutex{None: oversell.None{Shelf: s, Work: work}}
	two := &oversell.Mutex{None: oversell.None{Shelf: s, Work: work}}
	if r := sum(t, s, "mutex", 2, letIn(t, 2, one, two)...); r.Sold != 4 || r.Oversold != 2 || r.Left != 0 {
		t.Errorf("%v: %+v", &r, r)
	}
}

// The first buyer works beyond the TTL, and the second comes in beside it; the
// first one's DEL takes away the second one's lock, and the third comes in too.
func TestSetNXReleasesAnothersLock(t *testing.T) {
	m := miniredis.RunT(t)
	s := shelf(t, m.Addr(), 2)
	inside, goOn := make(map[string]chan struct{}), make(map[string]chan struct{})
	replies := make(map[string]chan error)
	buy := func(order string) {
		inside[order], goOn[order], replies[order] = make(chan struct{}), make(chan struct{}), make(chan error, 1)
		here, on, end := inside[order], goOn[order], replies[order]
		strategy := &oversell.SetNX{
			None: oversell.None{Shelf: s, Work: func(context.Context) error {
				close(here)
				<-on
				return nil
			}},
			Client: client(t, m.Addr()), Key: "lock", TTL: time.Second, Poll: time.Millisecond,
		}
		go func() { end <- strategy.Buy(t.Context(), order) }()
	}
	buy("first")
	await(t, inside["first"])
	m.FastForward(2 * time.Second) // the first works on
	buy("second")
	await(t, inside["second"])
	close(goOn["first"])
	must(t, await(t, replies["first"]))
	buy("third")
	await(t, inside["third"]) // the second is inside as well
	for _, order := range []string{"second", "third"} {
		close(goOn[order])
		must(t, await(t, replies[order]))
	}
	if r := sum(t, s, "setnx", 2, oversell.Answers{Sold: 3}); r.Oversold != 1 {
		t.Errorf("%v: %+v", &r, r)
	}
}

// A buyer whose time is over is answered so, and is no sale.
func TestPatienceEnds(t *testing.T) {
	s := shelf(t, small(t), 5)
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	a := oversell.NewBuyers(&oversell.None{Shelf: s, Work: oversell.Wait(time.Hour)}, []string{"a", "b"}).Start(ctx)
	if a.Errors != 2 || a.Sold != 0 || a.Error == "" || len(a.Waited) != 2 {
		t.Errorf("%+v", a)
	}
	if r := sum(t, s, "none", 5, a); !r.Exact || r.Errors != 2 {
		t.Errorf("%v: %+v", &r, r)
	}
}
