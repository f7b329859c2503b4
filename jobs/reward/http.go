package reward

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/bearer"
)

// requestTime bounds a request, in addition to its wait for the lock.
const requestTime = 5 * time.Second

// A Handler serves the rewards of families over HTTP:
//
//	GET    /families/{family}/rewards?after=&limit=           a page, in the order of the rewards
//	GET    /families/{family}/rewards/{reward}
//	PUT    /families/{family}/rewards/{reward}                 offers it
//	POST   /families/{family}/rewards/{reward}/claims/{member}
//	POST   /families/{family}/rewards/{reward}/delivery        delivers it
//	DELETE /families/{family}/rewards/{reward}                 withdraws it
//
// Every request needs Authorization: Bearer with the token, and may be repeated. No request has
// a body. Errors are application/problem+json (RFC 9457): 401 without the token; 404 for an
// unknown reward; 409 for a step that the state does not allow, and "taken" with the member that
// has the reward; 422 for an invalid request; 503 for doubt, after which the request should be
// repeated.
type Handler struct {
	desk  *Desk
	token func() string
	log   *slog.Logger
	mux   *http.ServeMux
}

// NewHandler returns a Handler. Token returns the current token and is called for each request;
// while it is empty every request is refused. The logger may be nil. NewHandler panics without a
// desk or a token.
func NewHandler(d *Desk, token func() string, log *slog.Logger) *Handler {
	if d == nil || token == nil {
		panic("reward: NewHandler needs a desk and a token")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{desk: d, token: token, log: log, mux: http.NewServeMux()}
	one := func(do func(context.Context, string, string) (Record, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			record, err := do(r.Context(), r.PathValue("family"), r.PathValue("reward"))
			h.answer(w, viewOf(record), err)
		}
	}
	const path = "/families/{family}/rewards"
	h.mux.HandleFunc("GET "+path, h.list)
	h.mux.HandleFunc("GET "+path+"/{reward}", one(d.find))
	h.mux.HandleFunc("PUT "+path+"/{reward}", one(d.Offer))
	h.mux.HandleFunc("DELETE "+path+"/{reward}", one(d.Withdraw))
	h.mux.HandleFunc("POST "+path+"/{reward}/delivery", one(d.Deliver))
	h.mux.HandleFunc("POST "+path+"/{reward}/claims/{member}", func(w http.ResponseWriter, r *http.Request) {
		record, err := d.Claim(r.Context(), Claim{r.PathValue("family"), r.PathValue("reward"), r.PathValue("member")})
		h.answer(w, viewOf(record), err)
	})
	return h
}

// find is Book.Find with ErrNoReward for a missing record.
func (d *Desk) find(ctx context.Context, family, reward string) (Record, error) {
	if _, err := named(family, reward); err != nil {
		return Record{}, err
	}
	r, found, err := d.book.Find(ctx, family, reward)
	if err == nil && !found {
		err = ErrNoReward
	}
	return r, err
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if !bearer.Is(r, h.token()) {
		bearer.Demand(w, r, "rewards")
		writeProblem(w, problem{Type: "token", Status: http.StatusUnauthorized, Title: "the token is missing or wrong"})
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), requestTime+h.desk.options.Wait)
	defer stop()
	h.mux.ServeHTTP(w, r.WithContext(ctx))
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request) {
	limit := 100
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = 0 // Book.List refuses it and names the allowed values
		}
		limit = n
	}
	records, err := h.desk.book.List(r.Context(), r.PathValue("family"), r.URL.Query().Get("after"), limit)
	page := struct {
		Rewards []view `json:"rewards"`
		Next    string `json:"next,omitempty"`
	}{Rewards: make([]view, len(records))}
	for i, record := range records {
		page.Rewards[i] = viewOf(record)
	}
	if len(records) > 0 && len(records) == limit {
		page.Next = records[limit-1].Reward
	}
	h.answer(w, page, err)
}

// A view is the JSON of a record. Its fields are not masked.
type view struct {
	Family      string `json:"family"`
	Reward      string `json:"reward"`
	State       State  `json:"state"`
	Member      string `json:"member,omitempty"`
	OfferedAt   string `json:"offered_at,omitempty"`
	ClaimedAt   string `json:"claimed_at,omitempty"`
	DeliveredAt string `json:"delivered_at,omitempty"`
	WithdrawnAt string `json:"withdrawn_at,omitempty"`
}

func viewOf(r Record) view {
	show := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(timeFormat)
	}
	return view{r.Family, r.Reward, r.State, r.Member, show(r.Offered), show(r.At), show(r.Delivered), show(r.Withdrawn)}
}

// A problem is an error reply as defined by RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Member string `json:"member,omitempty"` // the member that has a reward that is taken
	Since  string `json:"since,omitempty"`
}

func writeProblem(w http.ResponseWriter, p problem) {
	p.Type = "urn:cronce:reward:" + p.Type
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that has gone away needs none
}

// refusals maps errors of a desk to problems.
var refusals = []struct {
	err    error
	name   string
	status int
}{
	{ErrNoReward, "unknown", http.StatusNotFound}, {ErrNotOffered, "not-offered", http.StatusConflict},
	{ErrNotClaimed, "not-claimed", http.StatusConflict}, {ErrWithdrawn, "withdrawn", http.StatusConflict},
	{ErrDelivered, "delivered", http.StatusConflict},
}

func (h *Handler) answer(w http.ResponseWriter, shown any, err error) {
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(shown) // a client that has gone away needs none
		return
	}
	if taken, ok := errors.AsType[*TakenError](err); ok {
		writeProblem(w, problem{Type: "taken", Status: http.StatusConflict, Title: "the family has the reward", Member: taken.Member, Since: taken.At.Format(timeFormat)})
		return
	}
	if f, ok := errors.AsType[*FieldError](err); ok {
		writeProblem(w, problem{Type: "invalid", Status: http.StatusUnprocessableEntity, Title: "what was sent is not allowed", Detail: f.Error()})
		return
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			writeProblem(w, problem{Type: r.name, Status: r.status, Title: r.err.Error()})
			return
		}
	}
	h.log.Warn("reward in doubt", slog.Any("error", err))
	writeProblem(w, problem{Type: "doubt", Status: http.StatusServiceUnavailable, Title: "it is not known whether this was done: send the same again"})
}
