package sms

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Messages that were given back do not count as taken, neither against the batch nor in the summary of
// the run. The run takes more only if a request was made.
func TestTally(t *testing.T) {
	p := Piece{Message: Message{ID: "a", To: "+12025550101"}}
	var sum tally
	if sum.add([]Mark{p.Back(), p.Back()}) {
		t.Error("no request was made, and another handful is taken")
	}
	if sum.taken != 0 {
		t.Errorf("%d taken, want 0", sum.taken)
	}
	if !sum.add([]Mark{p.Back(), p.Retry(0, 0, "busy")}) || !sum.add([]Mark{p.Failed(0, "no")}) || !sum.add([]Mark{p.Sent(0)}) {
		t.Error("requests were made, and no other handful is taken")
	}
	if sum.taken != 3 || sum.sent != 1 || sum.failed != 1 || sum.waiting != 1 {
		t.Errorf("%+v", sum)
	}
}

// The pause is as long as the longest that the gateway asked for, in whichever order its replies come.
func TestTallyKeepsTheLongestRetryAfter(t *testing.T) {
	var sum tally
	for _, after := range []time.Duration{20 * time.Second, 40 * time.Second, 30 * time.Second} {
		sum.judge(Piece{}, &exchange{made: 1, err: &GatewayError{Status: 503, After: after}})
	}
	if got := sum.pause(); got != 40*time.Second {
		t.Errorf("the pause is %v, want 40s", got)
	}
}

// The reason of a pause is the first refusal: later ones may be its consequences.
func TestTallyKeepsTheFirstRefusal(t *testing.T) {
	var sum tally
	for _, text := range []string{"out of credit", "too many requests"} {
		sum.judge(Piece{}, &exchange{made: 1, err: &GatewayError{Pause: true, Err: errors.New(text)}})
	}
	if got := sum.reason(); !strings.Contains(got, "out of credit") {
		t.Errorf("the reason is %q, want the first", got)
	}
}

// The client ends an idle connection earlier than servers do: many servers wait for five seconds.
func TestIdleConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := make(chan time.Duration, 1)
		dial := func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				r := bufio.NewReader(theirs)
				_, _ = http.ReadRequest(r)
				_, _ = io.WriteString(theirs, "HTTP/1.1 204 No Content\r\n\r\n")
				answered := time.Now()
				_, _ = r.ReadByte()
				idle <- time.Since(answered)
			}()
			return ours, nil
		}
		client := transport().(*http.Transport)
		client.Proxy, client.DialContext = nil, dial
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway.example/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		if d := <-idle; d >= 5*time.Second {
			t.Errorf("an idle connection is kept for %v", d)
		}
	})
}
