package http

import (
	"encoding/json"
	"errors"
	"strings"
	"text/template"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// maxBody bounds a rendered body, in bytes.
const maxBody = 64 << 10

// tickLayout is RFC 3339 with milliseconds.
const tickLayout = "2006-01-02T15:04:05.000Z07:00"

// A body is a parsed template. An empty one renders to no body.
type body struct{ template *template.Template }

// fields are the fields of a run for the template of a body. Its texts are escaped for a JSON
// string.
type fields struct {
	Job     string
	Tick    instant
	RunID   string
	Fence   int64
	Attempt int
}

// An instant prints as RFC 3339 with milliseconds, in UTC.
type instant struct{ time.Time }

func (t instant) String() string { return t.Format(tickLayout) }

func fieldsOf(run *scheduler.Run) fields {
	return fields{escape(run.Job), instant{run.Tick.UTC()}, escape(run.ID), run.Fence, run.Attempt}
}

// escape returns a text escaped for the inside of a JSON string.
func escape(text string) string {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return string(quoted[1 : len(quoted)-1])
}

// sample returns the fields of a possible run.
func sample() fields {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return fieldsOf(&scheduler.Run{ID: "cronce/sample@2026-01-02T03:04:05Z", Job: "sample", Tick: at, Fence: 1_767_323_045_000_000, Attempt: 1})
}

func parseBody(text string) (*body, error) {
	t, err := template.New("body").Parse(text)
	if err != nil {
		return nil, err
	}
	for _, part := range t.Templates() {
		if strings.Contains(part.Root.String(), "{{range ") { // it could go on forever
			return nil, errors.New("range is not allowed")
		}
	}
	return &body{t}, nil
}

var errTooLong = errors.New("the body is too long")

// render returns the body for a run.
func (b *body) render(f fields) (string, error) {
	var out bounded
	if err := b.template.Execute(&out, f); err != nil {
		return "", err
	}
	return out.text.String(), nil
}

// A bounded buffer refuses text beyond maxBody.
type bounded struct{ text strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxBody {
		return 0, errTooLong
	}
	return b.text.Write(p)
}

// templateFault returns the text of a template's fault without the names of internal types.
func templateFault(err error) string {
	text := strings.TrimPrefix(err.Error(), "template: ")
	return strings.ReplaceAll(text, " in type http.fields", "")
}
