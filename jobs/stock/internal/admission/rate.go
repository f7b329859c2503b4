// Package admission limits the requests to the HTTP front of a sale: how often each client may send
// one, and how many are served at once.
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

// MaxKeys bounds the keys that a limiter remembers, which take some 20 MB. It drops the least
// recently used key first.
const MaxKeys = 65_536

// A Limiter applies a rate to each of many keys. A nil Limiter allows everything. Its methods may
// be called concurrently.
type Limiter struct {
	perSecond rate.Limit
	burst     int

	mu    sync.Mutex
	keys  map[string]*list.Element
	order *list.List // of *rated, most recently used first
}

type rated struct {
	key   string
	limit *rate.Limiter
}

// NewLimiter returns a limiter that allows perMinute requests per key and minute, and burst at
// once. It returns nil if perMinute is 0: everything is allowed.
func NewLimiter(perMinute, burst int) *Limiter {
	if perMinute <= 0 {
		return nil
	}
	return &Limiter{perSecond: rate.Limit(float64(perMinute) / 60), burst: burst, keys: map[string]*list.Element{}, order: list.New()}
}

// Wait returns the time until the next request of a key is allowed. 0: this request is allowed, and
// counted.
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

// Keys returns the keys that the limiter remembers, in no order.
func (l *Limiter) Keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.keys))
}

// ClientAddress returns the address that a request counts for. It is the peer's address or, behind
// trusted proxies, the last forwarded address that is not a trusted proxy. An IPv6 address counts
// as its /64, the usual size of one customer's network.
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
			break // the proxies forwarded no valid address before this one
		}
		at = hop.Unmap().WithZone("")
	}
	if at.Is6() {
		return netip.PrefixFrom(at, 64).Masked().String()
	}
	return at.String()
}

// Unmapped replaces IPv4-mapped ranges by their IPv4 ranges, since peer addresses are compared
// unmapped.
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
