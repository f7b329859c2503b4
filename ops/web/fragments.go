package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// age finds the age of something in a text.
var age = regexp.MustCompile(`\d[\d.]* (?:ms|s|min \d+ s|h \d+ min|days) ago`)

// movesEvery is the time after which a part is sent again that has only moved. In between, the page
// itself counts down.
const movesEvery = 5 * time.Second

// A livePart is a part of a page that is replaced alone: a section with the attribute data-live.
type livePart struct {
	id, text      string
	steady, exact [sha256.Size]byte // of the text without and with the parts that move
}

// partsOf finds the live parts of a page. Sections do not contain each other, and the templates escape each < and > of a text.
func partsOf(page []byte) (parts []livePart) {
	for {
		begin := bytes.Index(page, []byte("<section"))
		if begin < 0 {
			return parts
		}
		page = page[begin:]
		tag, _, _ := bytes.Cut(page, []byte(">"))
		end := bytes.Index(page, []byte("</section>")) + len("</section>")
		if _, id, named := bytes.Cut(tag, []byte(` id="`)); named && bytes.Contains(tag, []byte(" data-live")) {
			id, _, _ = bytes.Cut(id, []byte(`"`))
			text := page[:end]
			parts = append(parts, livePart{string(id), string(text), sha256.Sum256(withoutMoving(text)), sha256.Sum256(text)})
		}
		page = page[end:]
	}
}

// sentParts remembers the parts that a reader has, by their id.
type sentParts map[string]sentPart

type sentPart struct {
	steady, exact [sha256.Size]byte
	at            time.Time
}

// changed returns the parts of a page that its reader does not have, and remembers them as sent.
func (sent sentParts) changed(page []livePart, now time.Time) (parts []string) {
	for i := range page {
		part := &page[i]
		before, known := sent[part.id]
		if known && (before.exact == part.exact || before.steady == part.steady && now.Sub(before.at) < movesEvery) {
			continue
		}
		sent[part.id] = sentPart{part.steady, part.exact, now}
		parts = append(parts, part.text)
	}
	return parts
}

// withoutMoving removes the text of a part that changes by the clock alone: a countdown, but not the instant to which it leads, the
// store's clock, an age, the place of a mark, the bars and lines of a lane, and the times below the lanes.
func withoutMoving(text []byte) []byte {
	steady := make([]byte, 0, len(text))
	for len(text) > 0 {
		one := text // a tag and the text behind it
		if n := bytes.IndexByte(text[1:], '<'); n >= 0 {
			one = text[:n+1]
		}
		text = text[len(one):]
		switch {
		case bytes.HasPrefix(one, []byte(`<rect `)):
			continue
		case bytes.HasPrefix(one, []byte(`<div class="lane axis">`)):
			_, text, _ = bytes.Cut(text, []byte("</div>"))
			continue
		case bytes.HasPrefix(one, []byte(`<time class="until"`)), bytes.HasPrefix(one, []byte(`<span class="asof"`)):
			one = one[:bytes.IndexByte(one, '>')+1]
		case bytes.HasPrefix(one, []byte(`<use `)), bytes.HasPrefix(one, []byte(`<text`)):
			one = withoutPlace(one)
		case bytes.Contains(one, []byte(" ago")):
			one = age.ReplaceAll(one, nil)
		}
		steady = append(steady, one...)
	}
	return steady
}

// withoutPlace removes the place from a tag.
func withoutPlace(tag []byte) []byte {
	before, place, found := bytes.Cut(tag, []byte(` x="`))
	if n := bytes.IndexByte(place, '"'); found && n > 0 && place[n-1] == '%' {
		return slices.Concat(before, place[n+1:])
	}
	return tag
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

// A livePage is a page as the callers of a role see it.
type livePage struct {
	role   access.Role
	target string
}

// live returns the live parts of a page that viewers may see, for the caller of a stream. However many streams follow a page, it is
// made once for each snapshot. But forms are not shared: each has the key of an operation of its own.
func (h *Handler) live(r *http.Request, target string) []livePart {
	type made struct {
		parts []livePart
		forms bool
	}
	of := livePage{callerOf(r).Role, local(target)}
	render := func() made {
		page := h.page(r, of)
		return made{partsOf(page), bytes.Contains(page, []byte(`name="op"`))}
	}
	pages := h.lives.from(h.o.Projection.Peek(), func(*ops.Snapshot) *sync.Map { return new(sync.Map) })
	first, shared := pages.LoadOrStore(of, sync.OnceValue(render))
	page := first.(func() made)()
	if shared && page.forms {
		page = render()
	}
	return page.parts
}

// page renders a page. It has no name of a caller, and its reads do not end with the stream that needed it first.
func (h *Handler) page(r *http.Request, of livePage) []byte {
	inner, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodGet, of.target, nil)
	if err != nil {
		return nil
	}
	c := &capture{header: http.Header{}}
	h.views.ServeHTTP(c, with(inner, access.Caller{Role: of.role}))
	return c.Bytes()
}
