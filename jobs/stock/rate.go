package stock

import (
	"container/list"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxRated is how many keys a limiter remembers: some 20 MB. The key that was silent for the
// longest time is forgotten first.
const maxRated = 65_536

// DefaultBurst is how many requests may come at once where a Rate does not say it.
const DefaultBurst = 10

// A Rate is how often something may be done. The zero Rate is any number of times.
type Rate struct {
	PerMinute int // 0: any number
	Burst     int // how many of them at once; 0: DefaultBurst
}

// A limiter holds each of many keys to a rate.
type limiter struct {
	rate Rate

	mu    sync.Mutex
	keys  map[string]*list.Element
	order *list.List // of *rated, the one that asked last in front
}

type rated struct {
	key   string
	limit *rate.Limiter
}

// newLimiter returns nil for the zero Rate: everything is allowed.
func newLimiter(r Rate) *limiter {
	if r.PerMinute <= 0 {
		return nil
	}
	if r.Burst <= 0 {
		r.Burst = DefaultBurst
	}
	return &limiter{rate: r, keys: map[string]*list.Element{}, order: list.New()}
}

// wait is how long a key must wait until it may do what it asks for; 0: it has done it.
func (l *limiter) wait(key string, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.keys[key]
	if known {
		l.order.MoveToFront(e)
	} else {
		e = l.order.PushFront(&rated{key, rate.NewLimiter(rate.Limit(float64(l.rate.PerMinute)/60), l.rate.Burst)})
		l.keys[key] = e
	}
	if l.order.Len() > maxRated {
		oldest := l.order.Back()
		delete(l.keys, oldest.Value.(*rated).key)
		l.order.Remove(oldest)
	}
	r := e.Value.(*rated).limit.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// clientAddress is the address that a request counts for: its peer's, or, behind proxies that
// are trusted, the last that none of them has. An IPv6 address counts as its /64, which one
// customer has.
func clientAddress(r *http.Request, trusted []netip.Prefix) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	at := peer.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(at, trusted); i-- {
		text := strings.TrimSpace(hops[i])
		if text == "" {
			continue
		}
		hop, err := netip.ParseAddr(text)
		if err != nil {
			break // no proxy vouches for the hops before it
		}
		at = hop.Unmap().WithZone("")
	}
	if at.Is6() {
		return netip.PrefixFrom(at, 64).Masked().String()
	}
	return at.String()
}

// unmapped are ranges of addresses as peers have them: no IPv4 address is in the notation of IPv6.
func unmapped(ranges []netip.Prefix) []netip.Prefix {
	const mapped = 96 // bits before the IPv4 address
	plain := slices.Clone(ranges)
	for i, p := range plain {
		if p.Addr().Is4In6() && p.Bits() >= mapped {
			plain[i] = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
		}
	}
	return plain
}

func isTrusted(at netip.Addr, trusted []netip.Prefix) bool {
	for _, p := range trusted {
		if p.Contains(at) {
			return true
		}
	}
	return false
}

// ratedBuyers is under which a request's context has the limiter of buyers.
type ratedBuyers struct{}

// mayOrder returns nil if a buyer may place an order now.
func mayOrder(ctx context.Context, buyer string) error {
	l, _ := ctx.Value(ratedBuyers{}).(*limiter)
	if !isName(buyer) {
		return nil // without one, or refused for it: no limiter remembers a name of any length
	}
	if wait := l.wait(buyer, time.Now()); wait > 0 {
		return tooMany("buyer", wait)
	}
	return nil
}
