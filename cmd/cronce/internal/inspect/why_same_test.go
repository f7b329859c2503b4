package inspect

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/whycases"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/ops/web"
	"github.com/cronce/cronce/scheduler/why"
)

// A recorded store has the records of a question about a tick.
type recorded struct {
	clients.Driver
	why.Question
}

func (s recorded) Keys(context.Context) ([]string, error) { return []string{s.State.Key}, nil }

func (s recorded) ReadSeries(context.Context, []string) []series.Series {
	return []series.Series{s.State}
}

func (s recorded) Journal(context.Context, string, int) (series.Journal, error) {
	return s.Question.Journal, nil
}

func (s recorded) Audit(context.Context, string, int) ([]series.AuditRecord, error) {
	return s.Question.Audit, nil
}

func (s recorded) Members(context.Context) (series.MemberList, error) {
	return series.MemberList{Now: s.State.Now}, nil
}

func (s recorded) Output(context.Context, string, int64) (series.Output, error) {
	return series.Output{}, nil
}

// headlines are the words for some ticks, by the names of their cases.
var headlines = map[string]string{"ran": "ran", "failed": "failed", "cancelled": "cancelled", "cancelled, and still runs": "running", "ended well after its lease was lost": "lost"}

// The command, the API and the page of a tick give the same word and the same sentence: the ones of package why, which
// also knows the cause in the question: here no node lives. The word for a tick that failed is its outcome.
func TestOneSentence(t *testing.T) {
	t.Parallel()
	for name, c := range whycases.All() {
		t.Run(name, func(t *testing.T) {
			s := recorded{Question: c.Question}
			word, said := answerOfCommand(t, s)
			if want := headlines[name]; want != "" && word != want {
				t.Errorf("cronce why calls it %q, want %q", word, want)
			}
			if c.Question.Cause == "" && !c.Question.Removed && said != c.Want {
				t.Errorf("cronce why says %q, want %q", said, c.Want)
			}
			path := "/jobs/report/ticks/" + c.Question.Tick.UTC().Format(time.RFC3339Nano)
			get := planeOf(t, s)
			var api struct{ Sentence string }
			if err := json.Unmarshal([]byte(get("/api/v1"+path)), &api); err != nil || api.Sentence != said {
				t.Errorf("the API says %q (%v), the command %q", api.Sentence, err, said)
			}
			head, page, _ := strings.Cut(get(path), `<p class="sentence">`)
			if !strings.HasSuffix(strings.TrimSpace(head), word+"</span></h1>") {
				t.Errorf("the command calls it %q, the page %s", word, head[max(0, len(head)-200):])
			}
			page, _, _ = strings.Cut(page, "</p>")
			if html.UnescapeString(page) != said {
				t.Errorf("the page says %q, the command %q", page, said)
			}
		})
	}
}

// answerOfCommand returns the word in the first line, and the sentence.
func answerOfCommand(t *testing.T, s recorded) (word, sentence string) {
	t.Helper()
	i := inspector{&clients.Store{Config: &config.Config{}, Driver: s}}
	at := s.Tick.UTC().Format(time.RFC3339Nano)
	var text, structured strings.Builder
	_ = i.why(t.Context(), &text, s.State.Key, at, command.OutputText) // the error is the exit code
	fault := i.why(t.Context(), &structured, s.State.Key, at, command.OutputJSON)
	var answer struct {
		State    why.State
		Sentence string
	}
	if err := json.Unmarshal([]byte(structured.String()), &answer); err != nil || !strings.Contains(text.String(), "\n"+answer.Sentence+"\n") {
		t.Errorf("%v: the JSON is %s, and the text %s", err, structured.String(), text.String())
	}
	code := exit.Fine
	if fault != nil {
		code = exit.Code(fault, true)
	}
	if want := map[why.State]int{why.Overdue: exit.Failed, why.NotKnown: exit.NotKnown}[answer.State]; code != want {
		t.Errorf("exit code %d for the state %s, want %d", code, answer.State, want)
	}
	head, _, _ := strings.Cut(text.String(), "\n")
	return head[strings.LastIndex(head, ": ")+2:], answer.Sentence
}

// planeOf returns a function that reads from a plane of the store.
func planeOf(t *testing.T, s recorded) (get func(target string) string) {
	t.Helper()
	token, secret, err := access.NewToken("ann", access.Viewer)
	if err != nil {
		t.Fatal(err)
	}
	p := ops.New(ops.Options{Store: s, Namespace: "shop"})
	p.Refresh(t.Context())
	h, err := web.New(web.Options{Projection: p, Store: series.FrontOf(s), Gate: access.NewGate(access.Options{Tokens: func() []access.Token { return []access.Token{token} }})})
	if err != nil {
		t.Fatal(err)
	}
	return func(target string) string {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
}
