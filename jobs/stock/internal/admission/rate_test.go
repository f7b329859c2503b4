package admission_test

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/admission"
)

// A key may do so much at once, then as its rate allows; a refusal costs nothing. Keys know
// nothing of each other, and those that were silent for longest are forgotten.
func TestRate(t *testing.T) {
	at := time.Unix(1_795_207_852, 0)
	wait := admission.NewLimiter(60, 2).Wait
	for _, c := range []struct {
		after time.Duration
		want  time.Duration
	}{{0, 0}, {0, 0}, {0, time.Second}, {400 * time.Millisecond, 600 * time.Millisecond}, {time.Second, 0}, {time.Second, time.Second}, {time.Hour, 0}, {time.Hour, 0}, {time.Hour, time.Second}} {
		if got := wait("ada", at.Add(c.after)); got != c.want {
			t.Errorf("after %v: wait %v, want %v", c.after, got, c.want)
		}
	}
	if got := wait("bob", at); got != 0 {
		t.Errorf("another key waits %v", got)
	}
	at = at.Add(2 * time.Hour)
	for range 2 {
		wait("ada", at)
	}
	for i := range admission.MaxKeys {
		wait(fmt.Sprint(i), at)
	}
	if got := wait("ada", at); got != 0 {
		t.Errorf("a key beyond the bound waits %v", got)
	}
	for _, burst := range []int{0, 1} {
		none := admission.NewLimiter(0, burst).Wait
		for range 100 {
			if got := none("ada", at); got != 0 {
				t.Fatalf("without a rate it waits %v", got)
			}
		}
	}
}

func TestClientAddress(t *testing.T) {
	trusted := admission.Unmapped([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48"),
		netip.MustParsePrefix("::ffff:172.16.0.0/108"), netip.MustParsePrefix("::ffff:192.0.2.77/128")})
	for _, c := range []struct {
		peer, forwarded, want string
	}{
		{"192.0.2.1:99", "", "192.0.2.1"},
		{"192.0.2.1:99", "203.0.113.9", "192.0.2.1"}, // it is no proxy of ours
		{"10.0.0.1:99", "203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:99", "198.51.100.1, 203.0.113.9", "203.0.113.9"}, // what a client wrote itself
		{"10.0.0.1:99", "203.0.113.9, 10.0.0.2", "203.0.113.9"},
		{"10.0.0.1:99", "203.0.113.9,\n10.0.0.2", "203.0.113.9"}, // two headers
		{"10.0.0.1:99", "", "10.0.0.1"},
		{"10.0.0.1:99", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		{"10.0.0.1:99", "203.0.113.9, unknown, 10.0.0.2", "10.0.0.2"},
		{"[::ffff:10.0.0.1]:99", "203.0.113.9", "203.0.113.9"},
		{"172.31.0.1:99", "203.0.113.9", "203.0.113.9"},
		{"172.32.0.1:99", "203.0.113.9", "172.32.0.1"},
		{"[::ffff:172.16.0.1]:99", "203.0.113.9, ::ffff:192.0.2.77", "203.0.113.9"},
		{"[2001:db8:1:2:3:4:5:6]:99", "", "2001:db8:1:2::/64"},
		{"[2001:db8:ffff::1]:99", "2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:99", "", "fe80::/64"},
		{"@", "", "@"}, // a socket
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		for value := range strings.SplitSeq(c.forwarded, "\n") {
			r.Header.Add("X-Forwarded-For", value)
		}
		if got := admission.ClientAddress(r, trusted); got != c.want {
			t.Errorf("%s, forwarded %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}
