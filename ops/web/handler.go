package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// A Store has the data that pages read besides the projection: the whole journal of one job. If it
// is an [ops.ControlStore], callers that may can pause and resume jobs, and cancel runs.
type Store interface {
	Journal(ctx context.Context, key string, n int) (series.Journal, error)
	ReadSeries(ctx context.Context, keys []string) []series.Series
}

// Options are the options of a [Handler].
type Options struct {
	Projection *ops.Projection
	Store      Store
	Gate       *access.Gate // nil: every request that needs a role is refused
	// Hosts are the host names that requests may use. IP addresses and localhost are always
	// accepted.
	Hosts []string
	// Metrics serves /metrics. Nil: it is not served.
	Metrics http.Handler
	// Log gets a line about an action that is refused. Nil: there is none.
	Log *slog.Logger
}

// A Handler serves the plane over HTTP. It is safe for concurrent use.
type Handler struct {
	o     Options
	pages *pages
	serve http.Handler
	roles map[string]access.Role // by the pattern of a route

	controller *ops.Controller // nil: the store changes nothing

	refusals refusals

	known *http.ServeMux // all routes without those for everything else
	views *http.ServeMux // the pages that a stream follows, for a caller that is a viewer at least

	overviews shared[overviewBody]
	searched  [2]shared[time.Time]  // since when all verdicts, and all exceptions, are in memory
	pictures  [2]shared[shownLanes] // of the overview and of the nodes
	nodes     shared[nodesBody]
	days      shared[[]stateCount] // the ticks of all jobs in the last day
	lives     shared[*sync.Map]    // the parts of each livePage

	mu      sync.Mutex
	streams []*stream // the oldest first
}

// A route is a method and a path with the lowest role that may use it. None: every caller.
type route struct {
	pattern string
	role    access.Role
	page    bool // for a browser: without a session it redirects to the form
	serve   http.HandlerFunc
}

// New makes the handler.
func New(o Options) (*Handler, error) {
	h := &Handler{o: o, known: http.NewServeMux(), views: http.NewServeMux(), roles: map[string]access.Role{}}
	h.refusals = refusals{log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), lines: map[[2]string]refusedLine{}}
	if h.o.Gate == nil {
		h.o.Gate = access.NewGate(access.Options{Tokens: func() []access.Token { return nil }, Cookie: "cronce"})
	}
	var err error
	if h.pages, err = newPages(); err != nil {
		return nil, err
	}
	if store, ok := o.Store.(ops.ControlStore); ok {
		h.controller = ops.NewController(store)
	}
	mux := http.NewServeMux()
	for _, r := range h.routes() {
		h.roles[r.pattern] = r.role
		if r.page && r.role == access.Viewer && !r.writes() {
			h.views.HandleFunc(r.pattern, r.serve)
		}
		if r.page {
			r.serve = packed(r.serve)
		}
		mux.Handle(r.pattern, h.guarded(r))
		if strings.Contains(r.pattern, " ") {
			h.known.HandleFunc(r.pattern, r.serve)
		}
	}
	sameSite := http.NewCrossOriginProtection()
	sameSite.SetDenyHandler(http.HandlerFunc(h.crossOrigin))
	h.serve = secured(h.onlyHosts(sameSite.Handler(http.MaxBytesHandler(mux, maxSelection))))
	return h, nil
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.serve.ServeHTTP(w, r) }

// routes returns all routes, with the role of each.
func (h *Handler) routes() []route {
	all := []route{
		{"GET /healthz", access.None, false, h.healthz},
		{"GET /readyz", access.None, false, h.readyz},
		{"GET /assets/{name}", access.None, false, h.asset},
		{"GET /login", access.None, false, h.loginForm},
		{"POST /login", access.None, false, h.login},
		{"POST /logout", access.None, false, h.logout},
		{"POST /theme", access.None, false, h.theme},

		{"GET /api/v1/status", access.Viewer, false, only(h.apiStatus)},
		{"GET /api/v1/overdue", access.Viewer, false, only(h.apiOverdue)},
		{"GET /api/v1/jobs", access.Viewer, false, only(h.apiJobs, "q", "state", "sort", "limit", "after")},
		{"GET /api/v1/jobs/{job}", access.Viewer, false, only(h.apiJob)},
		{"GET /api/v1/jobs/{job}/runs", access.Viewer, false, only(h.apiJobRuns, "verdict", "node", "state", "from", "to", "limit", "after")},
		{"GET /api/v1/jobs/{job}/ticks/{tick}", access.Viewer, false, only(h.apiTick)},
		{"GET /api/v1/runs", access.Viewer, false, only(h.apiRuns, "verdict", "node", "state", "from", "to", "limit", "after")},
		{"GET /api/v1/nodes", access.Viewer, false, only(h.apiNodes)},
		{"GET /api/v1/audit", access.Viewer, false, only(h.apiAudit, "job", "limit")},
		{"/api/", access.Viewer, false, h.apiUnknown},
		{"GET /events", access.Viewer, false, packed(h.events)},

		{"GET /{$}", access.Viewer, true, h.overview},
		{"GET /jobs", access.Viewer, true, h.jobsPage},
		{"GET /jobs/{job}", access.Viewer, true, h.jobPage},
		{"GET /jobs/{job}/ticks/{tick}", access.Viewer, true, h.tickPage},
		{"GET /jobs/{job}/runs", access.Viewer, true, h.runsPage},
		{"GET /runs", access.Viewer, true, h.runsPage},
		{"GET /nodes", access.Viewer, true, h.nodesPage},
		{"GET /audit", access.Viewer, true, h.auditPage},
		{"GET /changes", access.Operator, true, h.plan},
		{"POST /changes", access.Operator, true, h.changeMany},
		{"/", access.Viewer, true, h.notFound},
	}
	for _, action := range oneActions { // for a page and for a program, with the same role
		all = append(all, route{changeRoute("", action), access.Operator, true, h.changeOne(action)},
			route{changeRoute("/api/v1", action), access.Operator, false, only(h.apiChange(action))})
		if action == series.ActionBackfill {
			all = append(all, route{changeRoute("", action) + stopSuffix, access.Operator, true, h.changeOne(action)},
				route{changeRoute("/api/v1", action) + stopSuffix, access.Operator, false, only(h.apiChange(action))})
		}
	}
	if h.o.Metrics != nil {
		all = append(all, route{"GET /metrics", access.Viewer, false, h.o.Metrics.ServeHTTP})
	}
	return all
}

// allowed returns the methods that a path has, for the header Allow. It returns "" for a path that
// no route has.
func (h *Handler) allowed(r *http.Request) string {
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if _, pattern := h.known.Handler(&http.Request{Method: method, Host: r.Host, URL: r.URL}); pattern != "" {
			methods = append(methods, method)
		}
	}
	return strings.Join(methods, ", ")
}

// wrongMethod sets the header Allow for a path that has other methods, and returns a sentence about
// that. It returns "" for a path that no route has.
func (h *Handler) wrongMethod(w http.ResponseWriter, r *http.Request) string {
	methods := h.allowed(r)
	if methods == "" {
		return ""
	}
	w.Header().Set("Allow", methods)
	return fmt.Sprintf("the method %s is not allowed here: allowed are %s", clip(r.Method), methods)
}

type callerKey struct{}

// callerOf returns the caller that guarded has found.
func callerOf(r *http.Request) access.Caller {
	c, _ := r.Context().Value(callerKey{}).(access.Caller)
	return c
}

// maxBody bounds the body of a request, and maxSelection the body of a request for several jobs.
const (
	maxBody      = 64 << 10
	maxSelection = 1 << 20
)

// writes reports whether a route may change a job.
func (rt *route) writes() bool {
	return rt.role > access.None && strings.HasPrefix(rt.pattern, "POST ")
}

// may reports whether a caller may use a route that changes a job. Pages show no form that would be
// refused.
func (h *Handler) may(c access.Caller, pattern string) bool {
	role, known := h.roles[pattern]
	return known && h.controller != nil && c.Role >= role
}

// guarded serves a route only to the callers that may use it.
func (h *Handler) guarded(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rt.pattern == "/" { // which methods a path has is no secret, so this needs no session
			if text := h.wrongMethod(w, r); text != "" {
				h.show(w, r, http.StatusMethodNotAllowed, "refused", view{Title: "Refused", Body: text})
				return
			}
		}
		// Another site must not make a browser send its session to the API, not even with a link.
		cookies := rt.page || r.Header.Get("Sec-Fetch-Site") == "same-origin" || !strings.HasPrefix(r.URL.Path, "/api/") && rt.role == access.None
		c := h.o.Gate.Caller(r, cookies)
		_, bearer := access.Bearer(r)
		switch {
		case rt.role == access.None:
		case c.Role == access.None && rt.page && !bearer: // the form is of no use behind a proxy, which adds its token again
			next := r.URL.RequestURI()
			if rt.writes() { // the form is sent again, by a person
				next = "/"
			}
			http.Redirect(w, r, "/login?next="+escapeQuery(next), http.StatusSeeOther)
			return
		case c.Role == access.None:
			w.Header().Set("WWW-Authenticate", `Bearer realm="cronce"`)
			problem(w, r, http.StatusUnauthorized, "unauthenticated", "a bearer token is missing, or not known, or it is of a proxy and no user is named")
			return
		case c.Role < rt.role:
			h.refuse(w, r, rt.page, c, http.StatusForbidden, "forbidden", "you are "+c.Role.String()+"; "+rt.role.String()+" may do this")
			return
		case (rt.page || !rt.writes()) && h.limited(w, r, rt.page, c, rt.writes()): // apiChange asks for itself: a dry run is no change
			return
		case rt.writes() && h.controller == nil:
			h.refuse(w, r, rt.page, c, http.StatusNotImplemented, "unsupported", "the store of this plane changes no job")
			return
		}
		if rt.pattern != selectionRoute {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		if rt.page {
			if status, text := unreadable(r); status != 0 {
				h.show(w, with(r, c), status, "refused", view{Title: "Refused", S: h.o.Projection.Peek(), Body: text})
				return
			}
		}
		rt.serve(w, with(r, c))
	})
}

// unreadable returns the status and the text of a refusal if the query or the form of a page cannot be read as a whole: a part of it
// would ask for another page, or another change.
func unreadable(r *http.Request) (status int, text string) {
	err := r.ParseForm()
	if long, is := errors.AsType[*http.MaxBytesError](err); is {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the form must have %d KiB at most: nothing was done", long.Limit>>10)
	}
	if err != nil {
		return http.StatusBadRequest, "the query or the form cannot be read: " + clip(err.Error())
	}
	return 0, ""
}

// with returns a request with its caller.
func with(r *http.Request, c access.Caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// limited takes a change, or a read, from the allowance of a caller. If none is left, it refuses the request
// and reports true.
func (h *Handler) limited(w http.ResponseWriter, r *http.Request, page bool, c access.Caller, change bool) bool {
	may, text := h.o.Gate.MayRead, "too many requests within a second"
	if change {
		may, text = h.o.Gate.MayChange, "too many changes within a few seconds: nothing was done"
	}
	if may(c) {
		return false
	}
	w.Header().Set("Retry-After", "1")
	h.refuse(w, r, page, c, http.StatusTooManyRequests, "rate-limited", text)
	return true
}

// refuse answers a request that is not served: a page for a browser, or a problem. An action is logged.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, page bool, c access.Caller, status int, kind, text string) {
	if action := actionOf(r.Pattern); action != "" {
		h.refusals.add(refusal{whoOf(c.ID), action, r.PathValue("job"), kind})
	}
	if !page {
		problem(w, r, status, kind, text)
		return
	}
	h.show(w, with(r, c), status, "refused", view{Title: "Refused", S: h.o.Projection.Peek(), Body: text})
}

// policy allows a page to load its own files and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secured sets the headers of every answer.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// onlyHosts refuses requests with other host names: a page of another site can point its own name
// to this address. The probe of a load balancer may have any, or none: its answer has nothing to hide.
func (h *Handler) onlyHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
		listed := slices.ContainsFunc(h.o.Hosts, func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, "."), host) })
		probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		if !probe && !listed && net.ParseIP(host) == nil && !strings.EqualFold(host, "localhost") {
			problem(w, r, http.StatusMisdirectedRequest, "host", "this is no server of that name: ops.hosts lists them")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// crossOrigin refuses a request that another site has made a browser send.
func (h *Handler) crossOrigin(w http.ResponseWriter, r *http.Request) {
	const text = "this is a cross-origin request: a page of another site may not do this"
	if strings.HasPrefix(r.URL.Path, "/api/") {
		problem(w, r, http.StatusForbidden, "cross-origin", text)
		return
	}
	h.show(w, r, http.StatusForbidden, "refused", view{Title: "Refused", Body: text})
}

// healthz reports that the process is alive.
func (h *Handler) healthz(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") }

// readyz reports whether the plane has a reading of the store, and nothing else.
func (h *Handler) readyz(w http.ResponseWriter, _ *http.Request) {
	if !h.o.Projection.Peek().Known() {
		text(w, http.StatusServiceUnavailable, "the store does not answer\n")
		return
	}
	text(w, http.StatusOK, "ok\n")
}

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}
