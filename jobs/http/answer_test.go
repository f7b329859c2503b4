package http

import (
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"
)

func TestStatuses(t *testing.T) {
	status, after := 200, "7"
	url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Retry-After", after)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	})
	again := map[int]bool{408: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true}
	for status = 200; status <= 599; status++ {
		want := "final"
		switch {
		case status < 300:
			want = "ok"
		case again[status]:
			want = "later"
		}
		err := try(t, t.Context(), Request{Method: "POST", URL: url})
		if got := class(err); got != want {
			t.Errorf("%d: %s, want %s: %v", status, got, want, err)
		}
		if e, ok := errors.AsType[*StatusError](err); want != "ok" && (!ok || e.Status != status) {
			t.Errorf("%d: %v", status, err)
		}
	}
	for status, after = range map[int]string{429: "0", 503: "soon"} {
		if err := try(t, t.Context(), Request{URL: url}); class(err) != "retry" {
			t.Errorf("%d after %s: %s", status, after, class(err))
		}
	}
	for status, after = range map[int]string{429: "3600", 503: "3601"} { // a server blocks a job for an hour at most
		err := try(t, t.Context(), Request{URL: url})
		if want := map[int]string{429: "later", 503: "final"}[status]; class(err) != want || (class(err) == "final") != strings.Contains(err.Error(), "Retry-After is 1h0m1s") {
			t.Errorf("%d after %s: %s, want %s: %v", status, after, class(err), want, err)
		}
	}
	status, after = 503, "86400"
	err := try(t, t.Context(), Request{URL: url, MaxRetryAfter: 5 * time.Second})
	if class(err) != "final" || err.Error() != "http: the server's Retry-After is 24h0m0s, and a run waits 5s at most: status 503 Service Unavailable" {
		t.Errorf("%d after %s: %s: %v", status, after, class(err), err)
	}
	for s, want := range map[int]string{302: "ok", 503: "ok", 200: "final"} {
		status = s
		if got := class(try(t, t.Context(), Request{URL: url, Expect: []int{302, 503}})); got != want {
			t.Errorf("%d expected 302 and 503: %s", s, got)
		}
	}
}

// A status that is no end of a request, which only a faulty server sends, ends the run and the connection.
func TestOddStatuses(t *testing.T) {
	for status, line := range map[int]string{101: "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x", 99: "099 Odd\r\nContent-Length: 0"} {
		closed := make(chan struct{})
		url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			defer close(closed)
			c, in, _ := w.(nethttp.Hijacker).Hijack()
			defer c.Close()
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\n\r\n", line)
			_, _ = io.Copy(io.Discard, in)
		})
		err := try(t, t.Context(), Request{URL: url})
		if e, ok := errors.AsType[*StatusError](err); !ok || e.Status != status || class(err) != "final" {
			t.Errorf("%d: %s: %v", status, class(err), err)
		}
		<-closed
	}
}

// The text of a response is on one line with its status, and is cut after 256 bytes.
func TestStatusError(t *testing.T) {
	for want, e := range map[string]*StatusError{
		"status 403 Forbidden": {Status: 403, Body: " \n"}, "status 599: so it is": {Status: 599, Body: "so\r\n\tit is\n"},
		"status 404 Not Found: " + strings.Repeat("x", 256): {Status: 404, Body: strings.Repeat("x", 256)}, "status 404 Not Found: " + strings.Repeat("y", 256) + "…": {Status: 404, Body: strings.Repeat("y", 257)},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The response to a failed request is kept without secrets, up to 4 KiB.
func TestAnswerIsMasked(t *testing.T) {
	url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.WriteHeader(403)
		fmt.Fprintf(w, "wrong token %s\x1b[31m\xff: not Bearer: %s or %s", r.Header.Get("X-Token"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.URL.Path)
		fmt.Fprint(w, strings.Repeat("ä", 10_000))
	})
	err := try(t, t.Context(), Request{URL: url + "/hunter24", Secrets: []string{"hunter24"}, SecretHeaders: map[string]func() string{
		"X-Token": func() string { return "hunter22" }, "Authorization": func() string { return "Bearer hunter23" }}})
	e, ok := errors.AsType[*StatusError](err)
	if !ok || !strings.HasPrefix(e.Body, "wrong token [masked]\uFFFD[31m\uFFFD: not Bearer: [masked] or /[masked]ää") || len(e.Body) > 4<<10 || len(e.Body) < 4<<10-2 {
		t.Errorf("%v", err)
	}
	if len(err.Error()) > 400 || !strings.HasPrefix(err.Error(), "status 403 Forbidden: wrong token [masked]") {
		t.Errorf("%v", err)
	}
}

// A secret of which only the first part is within the kept 4 KiB is masked too.
func TestSecretAtTheCut(t *testing.T) {
	url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, strings.Repeat("x", maxKept-6)+"hunter22")
	})
	err := try(t, t.Context(), Request{URL: url, Secrets: []string{"hunter22"}})
	if e, ok := errors.AsType[*StatusError](err); !ok || !strings.HasSuffix(e.Body, "x[maske") {
		t.Errorf("%v", err)
	}
}

// An endless response is read up to 1 MiB.
func TestLongAnswer(t *testing.T) {
	const gib = 1 << 30
	wrote := make(chan int, 1)
	url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		part, n := make([]byte, 1<<20), 0
		for n < gib {
			m, err := w.Write(part)
			if n += m; err != nil {
				break
			}
		}
		wrote <- n
	})
	if err := try(t, t.Context(), Request{URL: url}); err != nil {
		t.Error(err)
	}
	if n := <-wrote; n > gib/4 { // the buffers of the system
		t.Errorf("%d MiB were written", n>>20)
	}
}
