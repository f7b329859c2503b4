package delivery_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/internal/delivery"
)

// A call holds the arguments with which a queue called its function.
type call struct {
	item int
	lost int64
}

// held is a queue whose calls wait until the test lets one return. It is used in a bubble.
type held struct {
	*delivery.Queue[int]
	t      *testing.T
	began  []call
	let    chan func() bool
	panics []any
}

func hold(t *testing.T, most, mostSize int) *held {
	h := &held{t: t, let: make(chan func() bool)}
	h.Queue = delivery.New(most, mostSize, func(item int, lost int64) bool {
		h.began = append(h.began, call{item, lost})
		return (<-h.let)()
	}, func(v any) { h.panics = append(h.panics, v) })
	return h
}

func taken() bool   { return true }
func refused() bool { return false }
func panics() bool  { panic("in a call") }
func exits() bool   { runtime.Goexit(); return true }

// end lets the running call end, and returns after the next one has begun.
func (h *held) end(how func() bool) {
	h.let <- how
	synctest.Wait()
}

// drain lets all calls end.
func (h *held) drain() {
	synctest.Wait()
	for n := -1; n < len(h.began); {
		n = len(h.began)
		select {
		case h.let <- taken:
		default: // no call runs
		}
		synctest.Wait()
	}
}

func (h *held) want(calls []call, lost int64) {
	h.t.Helper()
	h.drain()
	if !slices.Equal(h.began, calls) {
		h.t.Errorf("the calls are %v, want %v", h.began, calls)
	}
	if h.Lost() != lost {
		h.t.Errorf("%d items are lost, want %d", h.Lost(), lost)
	}
}

// add adds items with sizes, numbered from 1, behind an item 0 whose call runs.
func (h *held) add(sizes ...int) {
	h.Add(0, 0)
	synctest.Wait()
	for i, size := range sizes {
		h.Add(i+1, size)
	}
}

// A full queue keeps the oldest items and the last one. Its limits apply to items that wait.
func TestQueueIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		most, mostSize int
		sizes          []int
		want           []call
		lost           int64
	}{
		"items":                           {3, 0, []int{0, 0, 0}, []call{{0, 0}, {1, 0}, {2, 0}, {3, 0}}, 0},
		"more items":                      {3, 0, []int{0, 0, 0, 0, 0}, []call{{0, 0}, {1, 0}, {2, 0}, {5, 2}}, 2},
		"bytes":                           {9, 10, []int{4, 6}, []call{{0, 0}, {1, 0}, {2, 0}}, 0},
		"more bytes":                      {9, 10, []int{4, 6, 1}, []call{{0, 0}, {1, 0}, {3, 1}}, 1},
		"a short item for a long one":     {9, 10, []int{9, 2, 8}, []call{{0, 0}, {2, 1}, {3, 1}}, 1},
		"a long item for a short one":     {9, 10, []int{1, 10, 1}, []call{{0, 0}, {3, 2}}, 2},
		"an item that is too long":        {9, 10, []int{11}, []call{{0, 0}, {1, 0}}, 0},
		"and one behind it":               {9, 10, []int{11, 0}, []call{{0, 0}, {2, 1}}, 1},
		"a long item where others waited": {9, 10, []int{5, 5, 5, 5}, []call{{0, 0}, {1, 0}, {4, 2}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hold(t, c.most, c.mostSize)
				h.add(c.sizes...)
				h.want(c.want, c.lost)
				// Items that were taken no longer count: the same items fit again.
				h.began = nil
				again := slices.Clone(c.want)
				for i := range again {
					again[i].lost += c.lost
				}
				h.add(c.sizes...)
				h.want(again, 2*c.lost)
			})
		})
	}
}

// The bytes of an item count only while it waits.
func TestQueueFreesBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hold(t, 9, 10)
		h.add(6, 4)
		h.end(taken) // the call of 1 begins
		h.Add(3, 6)
		h.Add(4, 1)
		h.want([]call{{0, 0}, {1, 0}, {2, 0}, {4, 1}}, 1)
	})
}

// Each call gets the number of items that were lost before its own: items that were displaced or
// refused, and items whose call panicked or ended its goroutine. Such a call costs no other item.
func TestQueueCountsWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hold(t, 2, 0)
		h.add(0, 0, 0) // 3 displaces 2
		for i, how := range []func() bool{taken, refused, exits, panics} {
			h.Add(4+i, 0) // 4 displaces 3
			h.end(how)
		}
		h.want([]call{{0, 0}, {1, 0}, {4, 3}, {5, 4}, {6, 5}, {7, 5}}, 5)
		if !slices.Equal(h.panics, []any{nil, "in a call"}) {
			t.Errorf("the panics are %v", h.panics)
		}
	})
}

// Wait returns when no item waits and no call runs. If its context ends first, the items that wait,
// and the item of the running call, are lost: they are counted once, however the call ends.
func TestQueueWait(t *testing.T) {
	ended, stop := context.WithCancel(context.Background())
	stop()
	for name, how := range map[string]func() bool{"taken": taken, "refused": refused, "a panic": panics, "an exit": exits} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hold(t, 2, 5)
				if n := h.Wait(ended); n != 0 {
					t.Errorf("%d items of none are lost", n)
				}
				h.add(0, 0, 5) // 3 displaces 2
				if n := h.Wait(ended); n != 3 || h.Lost() != 4 {
					t.Errorf("%d items are lost, %d in all, want 3 and 4", n, h.Lost())
				}
				h.Add(4, 2) // fills the free place
				h.Add(5, 3)
				if h.end(how); h.Lost() != 4 {
					t.Errorf("%d items are lost, want 4: that of the call is counted twice", h.Lost())
				}
				h.want([]call{{0, 0}, {4, 4}, {5, 4}}, 4)

				h.began = nil
				h.add(0)
				waited := make(chan int, 2)
				for range 2 {
					go func() { waited <- h.Wait(t.Context()) }()
				}
				synctest.Wait()
				if h.end(taken); len(waited) > 0 {
					t.Error("Wait has returned while an item is in a call")
				}
				h.want([]call{{0, 4}, {1, 4}}, 4)
				if len(waited) != 2 || <-waited+<-waited != 0 {
					t.Error("Wait does not return 0 when no item waits")
				}
				if n := h.Wait(ended); n != 0 {
					t.Errorf("%d items of none are lost", n)
				}
			})
		})
	}
}

// The item of Close is the last one: it is kept, and items that are added later are lost.
func TestQueueClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hold(t, 2, 0)
		h.add(0, 0, 0)
		h.Close(9)
		h.Add(10, 0)
		h.AddIdle(11)
		h.want([]call{{0, 0}, {1, 0}, {9, 2}}, 3)
		h.AddIdle(12)
		h.want([]call{{0, 0}, {1, 0}, {9, 2}}, 3)
	})
}

// AddIdle adds an item if no other item waits or is in a call. It counts no item as lost.
func TestQueueAddIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hold(t, 2, 0)
		h.AddIdle(1)
		synctest.Wait()
		h.AddIdle(2)
		h.Add(3, 0)
		h.AddIdle(4)
		h.end(refused)
		h.AddIdle(5)
		h.want([]call{{1, 0}, {3, 1}}, 1)
		h.AddIdle(6)
		h.want([]call{{1, 0}, {3, 1}, {6, 1}}, 1)
	})
}

// In random sequences the calls are in the order of the items, each gets the number of items lost
// before it, and in the end each item was taken or is counted as lost.
func TestQueueAtRandom(t *testing.T) {
	ended, stop := context.WithCancel(context.Background())
	stop()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			h := hold(t, 1+random.IntN(20), random.IntN(40))
			next, over, done := 0, 0, 0 // items that were added; calls that have ended; items that were taken
			discarded := false          // the item of the running call
			check := func() {
				synctest.Wait()
				if over >= len(h.began) {
					return
				}
				if c := h.began[over]; over > 0 && c.item <= h.began[over-1].item || c.lost != int64(c.item-done) {
					t.Fatalf("seed %d: after %d items were taken the call is %+v", seed, done, c)
				}
			}
			for range 200 {
				switch n := random.IntN(100); {
				case n < 60:
					h.Add(next, random.IntN(6))
					next++
				case n < 65 && over == len(h.began):
					h.AddIdle(next)
					next++
				case n < 67:
					h.Wait(ended)
					discarded = over < len(h.began)
				case over < len(h.began):
					how := random.IntN(6)
					h.end([]func() bool{taken, taken, taken, refused, panics, exits}[how])
					if over++; how < 3 && !discarded {
						done++
					}
					discarded = false
				}
				check()
			}
			for over < len(h.began) {
				h.end(taken)
				if over++; !discarded {
					done++
				}
				discarded = false
				check()
			}
			if h.Lost() != int64(next-done) {
				t.Errorf("seed %d: %d items are lost, want %d of %d", seed, h.Lost(), next-done, next)
			}
		})
	}
}
