package web

import (
	"bytes"
	"crypto/sha256"
	"html/template"
	"net/http"
	"regexp"
	"time"

	"github.com/cronce/cronce/ops"
)

// livePart finds a part of a page that is replaced alone: a section with the attribute data-live.
// Sections do not contain each other, and the templates escape each < and > of a text.
var livePart = regexp.MustCompile(`(?s)<section[^>]* id="([a-z]+)" data-live.*?</section>`)

// moving finds the text of a part that changes by the clock alone: a countdown, the store's clock, an
// age, the place of a mark, the bars and lines of a lane, and the times below the lanes.
var moving = regexp.MustCompile(`(?s)(<time class="until" datetime="[^"]*">|<span class="asof"[^>]*>)[^<]*` +
	`|\d[\d.]* (?:ms|s|min \d+ s|h \d+ min|days) ago| x="[\d.]+%"|<rect [^>]*/>|<div class="lane axis">.*?</div>`)

// movesEvery is the time after which a part is sent again that has only moved. In between, the page
// itself counts down.
const movesEvery = 5 * time.Second

// sentParts remembers the parts that a page has, by their id.
type sentParts map[string]sentPart

type sentPart struct {
	steady, exact [sha256.Size]byte
	at            time.Time
}

// changed returns the parts of a page that its reader does not have, and remembers them as sent.
func (sent sentParts) changed(page []byte, now time.Time) (parts []string) {
	for _, found := range livePart.FindAllSubmatch(page, -1) {
		id, text := string(found[1]), found[0]
		before, known := sent[id]
		next := sentPart{sha256.Sum256(withoutMoving(text)), sha256.Sum256(text), now}
		if known && (before.exact == next.exact || before.steady == next.steady && now.Sub(before.at) < movesEvery) {
			continue
		}
		sent[id] = next
		parts = append(parts, string(text))
	}
	return parts
}

// withoutMoving removes the moving text, but not the instant to which a countdown leads.
func withoutMoving(text []byte) []byte {
	return moving.ReplaceAll(text, []byte("$1"))
}

// until shows the time that is left until an instant. The script of the page counts it down.
func until(at, now time.Time) template.HTML {
	return template.HTML(`<time class="until" datetime="` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `">` + ops.Short(at.Sub(now)) + `</time>`) //nolint:gosec // it has digits and units alone
}

// A capture is a response that is kept in memory.
type capture struct {
	bytes.Buffer
	header http.Header
}

// Header returns the header, which is not used.
func (c *capture) Header() http.Header { return c.header }

// WriteHeader accepts each status: a page that is not found has parts, too.
func (c *capture) WriteHeader(int) {}

// page returns a page that viewers may see, for the caller of a stream.
func (h *Handler) page(r *http.Request, target string) []byte {
	inner, err := http.NewRequestWithContext(r.Context(), http.MethodGet, local(target), nil)
	if err != nil {
		return nil
	}
	c := &capture{header: http.Header{}}
	h.views.ServeHTTP(c, inner)
	return c.Bytes()
}
