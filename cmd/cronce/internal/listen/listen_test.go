package listen

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
)

// A browser that a page of another site leads here by its own name is refused.
func TestOnlyHosts(t *testing.T) {
	s := config.Shop{Address: "shop.internal:8081", Hosts: []string{"Shop.Example.com"}}
	fine := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for host, want := range map[string]int{
		"127.0.0.1:8081": 200, "[::1]:8081": 200, "[::1]": 200, "10.1.2.3": 200, "localhost:8081": 200, "LOCALHOST": 200, "localhost.": 200,
		"shop.internal:1": 200, "shop.example.com": 200, "shop.example.com.:443": 200,
		"evil.example:8081": 421, "": 421, "shop.example.com.evil.example": 421, "127.0.0.1.evil.example:8081": 421, "localhost.evil.example": 421, "*": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/products/tea", nil)
		r.Host = host
		w := httptest.NewRecorder()
		OnlyHosts(s.ServedAs(), fine).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
	if !hostAllowed([]string{anyHost}, "evil.example") {
		t.Error("* does not allow any")
	}
}

// A listener accepts no more connections than it may have open, and the next one when one has ended.
func TestListenBoundsConnections(t *testing.T) {
	l, err := Listen("127.0.0.1:0", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	for range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first := <-accepted
	second := <-accepted
	defer second.Close()
	select {
	case <-accepted:
		t.Fatal("a third connection is accepted")
	case <-time.After(50 * time.Millisecond):
	}
	_ = first.Close()
	(<-accepted).Close()
}
