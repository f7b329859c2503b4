//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// Nothing is served without a configuration for it, without tokens, or to other machines in plain text.
func TestOpsIsClosed(t *testing.T) {
	t.Setenv("HOOK_URL", "hunter22hunter22")
	t.Setenv("A_KEY", "s3cr3t")
	t.Setenv("EMPTY", "")
	tokens := file(t, "tokens", cronce(t, "ops", "token", "new", "me").stderr)
	for yaml, want := range map[string]string{
		"":                                "so nothing is served",
		"ops: {address: \"off\"}":         "so nothing is served",
		"ops: {address: \"127.0.0.1:0\"}": "ops.tokens_file: is missing",
		"ops: {tokens_file: /tokens}":     "ops.address: is missing",
		"ops: {address: \"0.0.0.0:0\", tokens_file: /tokens}":                                                                             "which other machines can reach",
		"ops: {address: \"0.0.0.0:0\", allow_remote: true, tokens_file: /tokens}":                                                         "in plain text",
		"ops: {address: \"127.0.0.1:0\", tokens_file: /nonexistent}":                                                                      "cannot be used",
		"ops: {address: \"127.0.0.1:0\", tokens_file: /tokens, hosts: [\"a:1\"]}":                                                         "without a port",
		"ops: {address: \"127.0.0.1:0\", tokens_file: /tokens, tls: {cert: /c.pem}}":                                                      "a cert without its key",
		"ops: {address: \"127.0.0.1:0\", tokens_file: /tokens, webhook: {secret_env: A}}":                                                 "ops.webhook.url: is missing, must be an http or https URL",
		"ops: {address: \"127.0.0.1:0\", tokens_file: /tokens, webhook: {url: \"https://me:hunter22@h\"}}":                                "ops.webhook.url: is one with a user or password",
		"ops: {address: \"127.0.0.1:0\", tokens_file: /tokens, heartbeat: {url: \"http://10.0.0.1/\"}}":                                   "ops.heartbeat.url: is one with the address 10.0.0.1, must be one with a public address",
		"ops: {address: \"127.0.0.1:0\", tokens_file: " + tokens + ", heartbeat: {url: \"https://h/${NO_SUCH}\"}}":                        "ops.heartbeat.url: names the variable NO_SUCH, which is not set",
		"ops: {address: \"127.0.0.1:0\", tokens_file: " + tokens + ", heartbeat: {url: \"https://h/${EMPTY}\"}}":                          "ops.heartbeat.url: names a variable that is set but empty",
		"ops: {address: \"127.0.0.1:0\", tokens_file: " + tokens + ", webhook: {url: \"${HOOK_URL}\"}}":                                   "ops.webhook.url: is of another scheme",
		"ops: {address: \"127.0.0.1:0\", tokens_file: " + tokens + ", webhook: {url: \"https://h\", secret_env: A_KEY}}":                  "ops.webhook.secret_env: names a secret of 6 characters, must have 16 or more",
		"ops: {address: \"127.0.0.1:0\", tokens_file: " + tokens + ", webhook: {url: \"https://h\", secret_env: A_KEY, secret_file: /k}}": "ops.webhook.secret_env: and ops.webhook.secret_file are both set",
		"ops: {address: \"127.0.0.1:0\", tokens_file: " + file(t, "none", "# none\n") + "}":                                               "there is no token",
		"ops: {address: \"127.0.0.1:0\", tokens_file: " + file(t, "bad", "a viewer 12\n") + "}":                                           "line 1",
	} {
		r := cronce(t, "ops", "--config", file(t, "c.yaml", yaml+"\n"))
		r.want(t, exit.WrongUsage, want)
		for _, secret := range []string{"hunter22", "s3cr3t"} {
			if strings.Contains(r.stderr, secret) {
				t.Errorf("the fault shows a secret: %s", r.stderr)
			}
		}
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "127.0.0.1", "8090", "example.com:80"} {
		cronce(t, "ops", "--dev", "--listen", address, "--redis", "redis://127.0.0.1:1").want(t, exit.WrongUsage, "this machine alone")
	}
	cronce(t, "ops", "--listen", "127.0.0.1:0", "--redis", "redis://127.0.0.1:1").want(t, exit.WrongUsage, "ops: --listen is for --dev")
	if r := cronce(t, "ops", "token", "new", "a b"); r.code != exit.WrongUsage || r.stdout != "" {
		t.Errorf("an id of two words ends with %d, and prints %q", r.code, r.stdout)
	}
	cronce(t, "ops", "token", "new").want(t, exit.WrongUsage, "got 0 arguments")
	cronce(t, "ops", "token", "new", "a", "--role", "root").want(t, exit.WrongUsage, "must be viewer, operator or admin")
	for _, header := range []string{"", "cookie", "Authorization", "host", "X Y", "X:"} {
		cronce(t, "ops", "token", "new", "a", "--user-header", header).want(t, exit.WrongUsage, "--user-header")
	}
}

// The plane answers only a caller with a token that was made for it. It reports, and logs once, that the store is
// away and that it is back, and ends with a signal.
func TestOpsServes(t *testing.T) {
	t.Parallel()
	server, url := newRedis(t)
	made := cronce(t, "ops", "token", "new", "grafana")
	made.want(t, exit.Fine, "cro_")
	token := strings.TrimSpace(made.stdout)
	c := start(t, "ops", "--redis", url, "--config", file(t, "c.yaml", "log: {format: json}\nops: {address: \"127.0.0.1:0\", tokens_file: "+file(t, "tokens", made.stderr)+"}\n"))
	eventually(t, "it is served", func() bool { return len(c.logs("ops served")) == 1 })
	base := "http://" + c.logs("ops served")[0].Text("address")
	status := func(path, token string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	for path, want := range map[string][2]int{"/api/v1/status": {401, 200}, "/metrics": {401, 200}, "/": {401, 200}, "/healthz": {200, 200}} {
		if closed, opened := status(path, "cro_wrong"), status(path, token); closed != want[0] || opened != want[1] {
			t.Errorf("%s: %d without a token, %d with it, want %v", path, closed, opened, want)
		}
	}
	eventually(t, "it is ready", func() bool { return status("/readyz", "") == 200 })
	server.Close()
	eventually(t, "it is not ready", func() bool { return status("/readyz", "") == 503 })
	eventually(t, "that is logged", func() bool { return len(c.logs("store unreachable")) == 1 })
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is back", func() bool { return len(c.logs("store back")) == 1 })
	c.signal(syscall.SIGTERM)
	if code := c.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
}

// The plane sends a heartbeat while a node runs a job, and none to a receiver that it was not given.
// Neither its log nor its metrics have the token.
func TestOpsSendsHeartbeats(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	beats := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		beats <- r.Method + " " + r.URL.Path + " " + r.UserAgent()
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(receiver.Close)
	tokens := file(t, "tokens", cronce(t, "ops", "token", "new", "me").stderr)
	const job = "namespace: shop\njobs: [{kind: sleep, name: report, spec: \"@daily\"}]\nlog: {format: json}\n"
	node := startNode(t, url, job)
	eventually(t, "the node has opened its job", func() bool {
		return len(node.logs("node started")) == 1 && cronce(t, "status", "--redis", url, "--config", file(t, "c.yaml", job)).code == exit.Fine
	})
	c := startWith(t, []string{"BEAT_TOKEN=hunter22"}, "ops", "--redis", url, "--config",
		file(t, "c.yaml", job+"ops: {address: \"127.0.0.1:0\", tokens_file: "+tokens+", heartbeat: {url: \""+receiver.URL+"/${BEAT_TOKEN}\", allow_private: true}}\n"))
	select {
	case got := <-beats:
		if got != "GET /hunter22 cronce (shop)" {
			t.Errorf("%q", got)
		}
	case <-time.After(patience):
		t.Fatal("no heartbeat")
	}
	eventually(t, "the failure is logged", func() bool { return len(c.logs("heartbeat failed")) == 1 })
	if strings.Contains(c.stderr.String(), "hunter22") {
		t.Errorf("the log shows the token: %s", c.stderr)
	}
	c.signal(syscall.SIGTERM)
	if code := c.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
}
