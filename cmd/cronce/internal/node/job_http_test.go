package node

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/scheduler"
)

// A job of a file sends its request with the secrets that its files contain at the time of the
// request.
func TestHTTPJob(t *testing.T) {
	var got, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("X-Mine"), r.Header.Get("X-Env"), r.Header.Get("Authorization"), r.Header.Get("Cronce-Fence")}, " "), string(text)
		w.WriteHeader(204)
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Bearer one\n")
	env := func(name string) (string, bool) { return "hunter22", name == "MINE" }
	c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(`
jobs:
  - kind: http
    name: report
    spec: "@daily"
    http:
      method: POST
      url: ` + server.URL + `/reports?key=${MINE}
      headers: {X-Mine: "yes", X-Env: "my ${MINE}"}
      header_file: {Authorization: ` + token + `}
      body: '{"job": "{{.Job}}"}'
      expect: [204]
      timeout: 1m
      allow_private: true
`), Env: env}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	job, err := newJob(c, "jobs[0]", &c.Jobs[0], resources{})
	if err != nil {
		t.Fatal(err)
	}
	if job.Interrupted != scheduler.InterruptedLost {
		t.Error("a drain has the request sent again")
	}
	for _, text := range []string{"one", "two"} {
		write("Bearer " + text + "\n")
		if err := job.Func(t.Context(), &scheduler.Run{ID: "a", Job: "report", Fence: 7}); err != nil {
			t.Fatal(err)
		}
		if want := "POST /reports yes my hunter22 Bearer " + text + " 7"; got != want || body != `{"job": "report"}` {
			t.Errorf("%s, want %s, with %s", got, want, body)
		}
	}
}

// A run waits as long as a server requests if that is no longer than retry.max, or than an hour.
func TestHTTPRetryAfter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(503)
	}))
	defer server.Close()
	for retry, want := range map[string]string{"": "1h0m0s", ", retry: {tries: 3}": "1h0m0s", ", retry: {tries: 3, max: 5s}": "5s", ", retry: {tries: 3, max: 3h}": ""} {
		c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(`jobs: [{kind: http, name: a, spec: "@daily", http: {url: '` + server.URL + `', allow_private: true}` + retry + `}]`)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		job, err := newJob(c, "jobs[0]", &c.Jobs[0], resources{})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if want != "" {
			text = "http: the server's Retry-After is 2h0m0s, and a run waits " + want + " at most: "
		}
		if err := job.Func(t.Context(), &scheduler.Run{Job: "a"}); err == nil || err.Error() != text+"status 503 Service Unavailable" {
			t.Errorf("%s: %v", retry, err)
		}
	}
}

// A variable is masked in a response even if it is only a part of a header, or of the URL.
func TestHTTPVariablesAreMasked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, "user "+strings.Split(r.Header.Get("X-Env"), `"`)[1]+" key "+r.FormValue("key"))
	}))
	defer server.Close()
	env := func(name string) (string, bool) { return "hunter22" + name, true }
	c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(
		`jobs: [{kind: http, name: a, spec: "@daily", http: {url: '` + server.URL + `?key=${A}', headers: {X-Env: 'Digest user="${B}", v=1'}, allow_private: true}}]`), Env: env}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	job, err := newJob(c, "jobs[0]", &c.Jobs[0], resources{})
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Func(t.Context(), &scheduler.Run{Job: "a"}); err == nil || !strings.HasSuffix(err.Error(), ": user [masked] key [masked]") {
		t.Errorf("%v", err)
	}
}

// A fault that only a node that starts can find has its place, too, and repeats no secret.
func TestHTTPSecrets(t *testing.T) {
	for setting, want := range map[string]string{
		"headers: {Authorization: '${TOKEN}'}":                          "c.yaml:2:63: jobs[0].http.headers.Authorization: names the variable TOKEN, which is not set",
		"headers: {Authorization: 'Bearer ${EMPTY}'}":                   "c.yaml:2:63: jobs[0].http.headers.Authorization: names a variable that is set but empty",
		"url: 'https://example.com/${EMPTY}'":                           "jobs[0].http.url: names a variable that is set but empty",
		"headers: {X-A: '${a b}'}":                                      "c.yaml:2:63: jobs[0].http.headers.X-A: has \"${\" without a name and \"}\", must be ${NAME}",
		"url: 'https://${TOKEN}/'":                                      "jobs[0].http.url: names the variable TOKEN, which is not set",
		"header_file: {Authorization: /nowhere/token}":                  "c.yaml:2:67: jobs[0].http.header_file.Authorization: names a file that cannot be used",
		"headers: {Authorization: '${SET}'}, url: 'http://example.com'": "jobs[0].http.url: is http, so the token is sent to another machine in plain text",
		"url: 'http://example.com/?key=${SET}'":                         "jobs[0].http.url: is http, so the token is sent to another machine in plain text",
		"url: '${HOST}/${SET}'":                                         "jobs[0].http.url: is http, so the token is sent to another machine in plain text",
		"url: '${HOOK}'":                                                "jobs[0].http.url: is http, so the token is sent to another machine in plain text",
		"url: 'http://${NAME}/a'":                                       "",
		"url: '${HOST}/a?$${SET}'":                                      "",
	} {
		if !strings.Contains(setting, "url:") {
			setting += ", url: 'https://example.com'"
		}
		data := "plaintext: refuse\njobs: [{kind: http, name: a, spec: '@daily', http: {" + setting + "}}]\n"
		env := func(name string) (string, bool) {
			value, ok := map[string]string{"SET": "hunter22", "EMPTY": "", "HOST": "http://example.com/", "NAME": "example.com:80", "HOOK": "http://example.com?hunter22"}[name]
			return value, ok
		}
		c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(data), Env: env}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = newJob(c, "jobs[0]", &c.Jobs[0], resources{})
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", setting, err)
			}
			continue
		}
		if _, ok := errors.AsType[*strictyaml.Error](err); !ok || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v, want %s", setting, err, want)
		}
	}
}
