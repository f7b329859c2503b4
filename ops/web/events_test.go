package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// A follower follows the stream of a page, and counts the bytes that reach it.
type follower struct {
	body  io.Reader
	bytes int
	lines *bufio.Scanner
}

// Read counts.
func (f *follower) Read(p []byte) (int, error) {
	n, err := f.body.Read(p)
	f.bytes += n
	return n, err
}

// follow opens the stream of a page, with a token of an operator or with other headers. The stream ends
// with the context.
func (pl *plane) follow(ctx context.Context, t *testing.T, server *httptest.Server, page string, header ...string) *follower {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events?page="+escapeQuery(page), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 0 {
		header = []string{"Authorization", "Bearer " + pl.tokens[access.Operator]}
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Header.Set("Accept-Encoding", "gzip") // set by the caller, the transport leaves the body as it is
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s, %q", answer.Status, answer.Header)
	}
	f := &follower{body: answer.Body}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	f.lines = bufio.NewScanner(z)
	f.lines.Buffer(nil, 1<<20)
	return f
}

// next returns the next event and its data.
func (f *follower) next(t *testing.T) (kind, data string) {
	t.Helper()
	for f.lines.Scan() {
		name, text, _ := strings.Cut(f.lines.Text(), ": ")
		switch name {
		case "event":
			kind = text
		case "data":
			return kind, text
		}
	}
	t.Fatalf("the stream ended: %v", f.lines.Err())
	return "", ""
}

// change returns the next change.
func (f *follower) change(t *testing.T) (c change) {
	t.Helper()
	kind, data := f.next(t)
	if err := json.Unmarshal([]byte(data), &c); err != nil || kind != "change" {
		t.Fatalf("event %q, %v: %s", kind, err, data)
	}
	return c
}

// A stream sends all live parts of its page first. A refresh without a change costs next to nothing, and
// one changed job costs the parts that show it. The test reads each event before it causes the next one.
func TestStreamSendsWhatChanged(t *testing.T) {
	pl := newPlane(t, "the gateway is away")
	rare := series.OpenRequest{Key: "rare", Node: "web-1", Revision: "r", Spec: "@yearly", Zone: "UTC", Policies: "overlap:skip/misfire:once"} // no tick is due while the test lasts
	if is := pl.store.Open(t.Context(), []series.OpenRequest{rare})[0]; is.Err != nil {
		t.Fatal(is.Err)
	}
	pl.p.Refresh(t.Context())
	server := httptest.NewServer(pl)
	t.Cleanup(server.Close)
	f := pl.follow(t.Context(), t, server, "/jobs/rare")
	if c := f.change(t); len(c.Parts) < 6 || c.At == 0 {
		t.Fatalf("the first change: %+v", c)
	}

	const refreshes = 100
	before := f.bytes
	for range refreshes {
		pl.p.Refresh(t.Context())
		f.change(t)
	}
	if cost := (f.bytes - before) / refreshes; cost > 250 {
		t.Errorf("a refresh without a change costs %d bytes", cost)
	}

	form := fields(t, pl.do("GET", "/jobs/rare", pl.tokens[access.Operator]).Body.String(), "/jobs/rare/pause")
	form.Set("reason", "maintenance")
	if w := pl.post("/jobs/rare/pause", form); w.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	before = f.bytes
	pl.p.Refresh(t.Context())
	parts := strings.Join(f.change(t).Parts, "")
	if !strings.Contains(parts, "maintenance") || strings.Contains(parts, `id="runs"`) {
		t.Errorf("after a pause: %s", parts)
	}
	if cost := f.bytes - before; cost > 3000 {
		t.Errorf("a changed job costs %d bytes", cost)
	}
}

// A stream ends with its reader, with its session, and when it makes room for another one.
func TestStreamEnds(t *testing.T) {
	pl := newPlane(t, "")
	server := httptest.NewServer(pl)
	t.Cleanup(server.Close)
	f := pl.follow(t.Context(), t, server, "")
	if c := f.change(t); len(c.Parts) > 0 || c.At == 0 {
		t.Errorf("without a page: %+v", c)
	}
	pl.mu.Lock()
	pl.streams[0].end(errCrowded)
	pl.mu.Unlock()
	if kind, data := f.next(t); kind != "end" || data != "crowded" {
		t.Errorf("event %q: %s", kind, data)
	}

	ctx, stop := context.WithCancel(t.Context())
	f = pl.follow(ctx, t, server, "/nodes")
	f.change(t)
	stop()
	_, _ = io.Copy(io.Discard, f)
	for until := time.Now().Add(10 * time.Second); pl.p.Watchers() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the stream goes on without its reader")
		}
	}

	cookie, _, _ := strings.Cut(pl.do("GET", "/login?token=one-time", "").Header().Get("Set-Cookie"), ";")
	f = pl.follow(t.Context(), t, server, "/nodes", "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	f.change(t)
	pl.do("POST", "/logout", "", "Cookie", cookie)
	pl.p.Refresh(t.Context())
	if kind, data := f.next(t); kind != "end" || data != "session" {
		t.Errorf("event %q: %s", kind, data)
	}
}

// A stream beyond the limit ends the oldest stream of the caller with most of them.
func TestStreamsAreBounded(t *testing.T) {
	h := &Handler{}
	ended := map[string]error{}
	open := func(caller string, number int) *stream {
		s := &stream{caller, func(err error) { ended[fmt.Sprint(caller, number)] = err }}
		h.enter(s)
		return s
	}
	first := open("few", 0)
	for i := range maxStreams - 1 {
		open("many", i)
	}
	if len(ended) > 0 {
		t.Fatalf("within the limit: %v", ended)
	}
	open("new", 0)
	open("new", 1)
	if len(ended) != 2 || !errors.Is(ended["many0"], errCrowded) || !errors.Is(ended["many1"], errCrowded) || len(h.streams) != maxStreams {
		t.Errorf("%d are open, ended: %v", len(h.streams), ended)
	}
	h.leave(first)
	open("new", 2)
	if len(ended) != 2 || len(h.streams) != maxStreams {
		t.Errorf("after one has left %d are open, ended: %v", len(h.streams), ended)
	}
}

// Each part of a page with data-live can be found, whatever page a viewer follows. A page for others, or
// no page of this site, is a page that is not there.
func TestLiveParts(t *testing.T) {
	pl := newPlane(t, hostileReason)
	r := with(httptest.NewRequest("GET", "/events", nil), access.Caller{ID: "a", Role: access.Operator})
	for target, parts := range map[string]int{"/": 7, "/jobs": 2, "/jobs/report": 7, "/jobs/report/ticks/2026-11-23T02:00:00Z": 4, "/jobs/report/runs": 2,
		"/runs": 2, "/nodes": 3, "/audit": 2, "/nothing": 1, "/changes?action=pause&job=report": 1, "//elsewhere": 7, "/events": 1} {
		page := pl.page(r, livePage{access.Operator, local(target)})
		found := len(partsOf(page))
		if found != bytes.Count(page, []byte(" data-live")) || found != parts {
			t.Errorf("%s has %d parts, want %d: %s", target, found, parts, page)
		}
	}
}

// A part is sent if it has changed, and after a while if it has only moved.
func TestChangedParts(t *testing.T) {
	part := func(text string) []byte {
		return []byte(`<p>x</p><section class="card" id="a" data-live>` + text + `</section>`)
	}
	soon := `<time class="until" datetime="2026-11-23T02:00:00.000Z">`
	for name, c := range map[string]struct {
		before, after string
		wait          time.Duration
		sent          bool
	}{
		"the same":           {"a", "a", time.Hour, false},
		"changed":            {"a", "b", 0, true},
		"a countdown":        {soon + "9.0 s</time>", soon + "8.1 s</time>", time.Second, false},
		"a countdown, later": {soon + "9.0 s</time>", soon + "4.0 s</time>", movesEvery, true},
		"another end":        {soon + "9.0 s</time>", strings.Replace(soon, "02", "03", 1) + "8.1 s</time>", 0, true},
		"an age":             {"12 s ago", "1 min 3 s ago", time.Second, false},
		"a time":             {"12:00:01", "12:00:02", 0, true},
		"the clock":          {`<span class="asof" title="t">12:00:01`, `<span class="asof" title="t">12:00:02`, time.Second, false},
		"a mark is another":  {`<use href="#m-ok" x="10%"/>`, `<use href="#m-lost" x="9.9%"/>`, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			sent, now := sentParts{}, time.Now()
			if first := sent.changed(partsOf(part(c.before)), now); len(first) != 1 {
				t.Fatalf("at first %q", first)
			}
			if next := sent.changed(partsOf(part(c.after)), now.Add(c.wait)); (len(next) == 1) != c.sent {
				t.Errorf("then %q", next)
			}
		})
	}
}

// A picture that has only moved since a second ago is not sent: a run goes on, and its bar, the place of
// each mark and the axis are others. A further tick is sent.
func TestPictureThatMoved(t *testing.T) {
	picture := func(wait time.Duration, more ...ops.Run) []livePart {
		runs := append(more, ops.Run{Tick: ops.InstantOf(ago(15 * time.Second)), Node: "pod-a", Attempt: 1, Verdict: "ran", State: ops.Running},
			ops.Run{Tick: ops.InstantOf(ago(40 * time.Second)), Node: "pod-b", Attempt: 2, Verdict: "ran", Outcome: "ok", State: ops.OK})
		s := &ops.Snapshot{AsOf: drawnAt.Add(wait), Nodes: new(ops.NodeList)}
		return partsOf([]byte(`<section id="lanes" data-live>` + drawn(t, lanesOf(s, []*ops.Job{jobOf(t, "@every 5s", runs...)}, time.Minute)) + `</section>`))
	}
	sent := sentParts{}
	before, after := picture(0), picture(time.Second)
	if before[0].exact == after[0].exact || len(sent.changed(before, drawnAt)) != 1 {
		t.Fatalf("at first %s, then %s", before, after)
	}
	if next := sent.changed(after, drawnAt.Add(time.Second)); len(next) > 0 {
		t.Errorf("the picture moved, and is sent: %s", next)
	}
	if next := sent.changed(picture(time.Second, ops.Run{Tick: ops.InstantOf(drawnAt), Verdict: "skipped", State: ops.Skipped}), drawnAt.Add(time.Second)); len(next) != 1 {
		t.Error("a further tick is not sent")
	}
}

// However many streams follow a page, it is made once for each snapshot: once for each role. A form is made for each stream, because
// the key of its operation stands for one request.
func TestStreamsShareAPage(t *testing.T) {
	pl := newPlane(t, "")
	made := map[string]int{}
	pl.views = http.NewServeMux()
	pl.views.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		made[r.URL.Path]++
		if c := callerOf(r); c.ID != "" {
			t.Errorf("a shared page has the name of %s", c.ID)
		}
		fmt.Fprintf(w, `<section id="a" data-live>%d`, made[r.URL.Path])
		if r.URL.Path == "/form" {
			fmt.Fprint(w, `<input type="hidden" name="op" value="x">`)
		}
		fmt.Fprint(w, `</section>`)
	})
	read := func(caller access.Caller, target string) string {
		ctx, end := context.WithCancel(t.Context())
		defer end() // the page outlives the stream that needed it first
		parts := pl.live(with(httptest.NewRequest("GET", "/events", nil).WithContext(ctx), caller), target)
		if len(parts) != 1 {
			t.Fatalf("%q", parts)
		}
		return parts[0].text
	}
	callers := []access.Caller{{ID: "a", Role: access.Viewer}, {ID: "b", Role: access.Viewer}, {ID: "c", Role: access.Operator}, {ID: "c", Role: access.Operator}}
	for n := range 3 {
		forms := map[string]bool{}
		for _, c := range callers {
			read(c, "/")
			forms[read(c, "/form")] = true
		}
		if made["/"] != 2*(n+1) || len(forms) != len(callers) {
			t.Errorf("after %d snapshots the page was made %d times, and there are %d forms for %d streams", n+1, made["/"], len(forms), len(callers))
		}
		pl.p.Refresh(t.Context())
	}
}

// A page is compressed for a caller that accepts it.
func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{"": false, "gzip": true, "br, GZIP;q=0.5, *": true, "gzip;q=0": false, "gzip; q=0.0, br": false, "br": false, "xgzip": false} {
		if got := acceptsGzip(header); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	pl := newPlane(t, "")
	if w := pl.do("GET", "/jobs", pl.tokens[access.Viewer], "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "gzip" || strings.Contains(w.Body.String(), "report") {
		t.Errorf("%v: %s", w.Header(), w.Body)
	}
	if w := pl.do("GET", "/api/v1/status", pl.tokens[access.Viewer], "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Errorf("%v", w.Header())
	}
}

// A stream that follows a job to a change, which the store may have lost, reads no snapshot before its time: each would
// cause the next one.
func TestStreamOfALostChange(t *testing.T) {
	pl := newPlane(t, "")
	before := pl.p.Peek()
	r := with(httptest.NewRequest(http.MethodGet, "/events", nil), access.Caller{ID: "a-operator", Role: access.Operator})
	if parts := pl.live(r, "/jobs/report?change=99"); len(parts) == 0 || pl.p.Peek() != before {
		t.Errorf("%d parts, another snapshot: %v", len(parts), pl.p.Peek() != before)
	}
}

// A page that several streams follow is read to its end, although the stream that needed it first has just ended.
func TestPageOfAStreamThatEnded(t *testing.T) {
	pl := newPlane(t, "")
	ctx, end := context.WithCancel(t.Context())
	end()
	r := with(httptest.NewRequest(http.MethodGet, "/events", nil).WithContext(ctx), access.Caller{ID: "a-viewer", Role: access.Viewer})
	if parts := fmt.Sprint(pl.live(r, "/jobs/report/runs")); !strings.Contains(parts, "<section") || strings.Contains(parts, "Not known") {
		t.Error(parts)
	}
}

// A stream shows a viewer no page of an operator: the routes of its pages ask for no role.
func TestStreamOfAPageOfOperators(t *testing.T) {
	pl := newPlane(t, "")
	r := httptest.NewRequest(http.MethodGet, "/events", nil)
	for target, want := range map[string]string{"/jobs": "report", "/changes?action=pause&all=1": "There is no such page."} {
		if page := pl.page(r, livePage{access.Viewer, target}); !bytes.Contains(page, []byte(want)) {
			t.Errorf("%s: %s", target, page)
		}
	}
}
