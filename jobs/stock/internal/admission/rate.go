// Package admission bounds the requests of the HTTP front of a sale: how often each client may ask,
// and how many requests are served at once.
package admission

import (
	"container/list"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// MaxKeys is how many keys a limiter remembers: some 20 MB. It forgets the key first that asked
// longest ago.
const MaxKeys = 65_536

// A Limiter holds each of many keys to a rate. A nil Limiter allows everything. Its methods may be
// called concurrently.
type Limiter struct {
	perSecond rate.Limit
	burst     int

	mu    sync.Mutex
	keys  map[string]*list.Element
	order *list.List // of *rated, the one that asked last in front
}

type rated struct {
	key   string
	limit *rate.Limiter
}

// NewLimiter allows so many per minute of each key, and burst of them at once. It returns nil for
// 0 per minute: everything is allowed.
func NewLimiter(perMinute, burst int) *Limiter {
	if perMinute <= 0 {
		return nil
	}
	return &Limiter{perSecond: rate.Limit(float64(perMinute) / 60), burst: burst, keys: map[string]*list.Element{}, order: list.New()}
}

// Wait returns how long a key must wait until its next request is allowed. 0: this one is, and counts.
func (l *Limiter) Wait(key string, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.keys[key]
	if known {
		l.order.MoveToFront(e)
	} else {
		e = l.order.PushFront(&rated{key, rate.NewLimiter(l.perSecond, l.burst)})
		l.keys[key] = e
	}
	if l.order.Len() > MaxKeys {
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

// Keys are the keys that the limiter remembers, in no order.
func (l *Limiter) Keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.keys))
}

// ClientAddress is the address that a request counts for: its peer's, or, behind proxies that
// are trusted, the last that none of them has. An IPv6 address counts as its /64, which one
// customer has.
func ClientAddress(r *http.Request, trusted []netip.Prefix) string {
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

// Unmapped are ranges of addresses as peers have them: no IPv4 address is in the notation of IPv6.
func Unmapped(ranges []netip.Prefix) []netip.Prefix {
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
