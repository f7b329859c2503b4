//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// signIn is a proxy that knows alice by her password. It adds its token and her address to each request, as
// docs/plane.md wants it: it replaces these headers of the client, and keeps the host.
func signIn(t *testing.T, plane, token string) string {
	t.Helper()
	target, err := url.Parse(plane)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
		r.Out.Header.Set("X-Forwarded-Email", "alice@example.com")
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "alice" || password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		// As nginx does, it reads the whole form first. A ReverseProxy that still sends a form when the plane refuses it may cut the answer.
		form, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(form))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// call sends a request, of a form if there is one, and returns the status and the body.
func call(t *testing.T, target string, form url.Values, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Method = http.MethodPost
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Alice, whom a proxy has signed in, pauses a job by the form of its page, and the audit names her. A
// request without the token of the proxy has no caller, whatever its headers, and neither has the token alone.
func TestOpsBehindAProxy(t *testing.T) {
	t.Parallel()
	_, store := newRedis(t)
	n := startNode(t, store, "jobs: [{kind: sleep, name: report, spec: \"@daily\"}]\nlog: {format: json}\n")
	eventually(t, "the node has started", func() bool { return len(n.logs("node started")) == 1 })
	made := cronce(t, "ops", "token", "new", "gateway", "--role", "operator", "--user-header", "x-forwarded-email")
	made.want(t, exit.Fine, " X-Forwarded-Email\n")
	token := strings.TrimSpace(made.stdout)
	c := start(t, "ops", "--redis", store, "--config", file(t, "c.yaml", "log: {format: json}\nops: {address: \"127.0.0.1:0\", tokens_file: "+file(t, "tokens", made.stderr)+"}\n"))
	eventually(t, "it is served", func() bool { return len(c.logs("ops served")) == 1 })
	plane := "http://" + c.logs("ops served")[0].Text("address")
	front := signIn(t, plane, token)

	alice := []string{"Authorization", "Basic YWxpY2U6aHVudGVyMg==", "X-Forwarded-Email", "eve@example.com"}
	var page string
	eventually(t, "the page of the job", func() bool {
		status, body := call(t, front+"/jobs/report", nil, alice...)
		page = body
		return status == http.StatusOK
	})
	form := url.Values{"reason": {"gateway is moved"}}
	_, inputs, _ := strings.Cut(page, `action="/jobs/report/pause"`)
	inputs, _, _ = strings.Cut(inputs, "</form>")
	for _, m := range regexp.MustCompile(`type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(inputs, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for _, x := range []struct {
		target string
		form   url.Values
		header []string
		want   int
	}{
		{front + "/jobs/report/pause", form, append(alice, "Origin", "https://evil.example"), http.StatusForbidden},
		{front + "/jobs/report", nil, nil, http.StatusUnauthorized},
		{plane + "/jobs/report", nil, []string{"Authorization", "Bearer " + token}, http.StatusUnauthorized},
		{plane + "/api/v1/status", nil, []string{"X-Forwarded-Email", "alice@example.com"}, http.StatusUnauthorized},
		{front + "/jobs/report/pause", form, append(alice, "Origin", front), http.StatusSeeOther},
	} {
		if status, body := call(t, x.target, x.form, x.header...); status != x.want {
			t.Errorf("%s with %d headers: %d, want %d: %.300s", x.target, len(x.header), status, x.want, body)
		}
	}
	cronce(t, "audit", "--redis", store).want(t, exit.Fine, "gateway/alice@example.com@web", "pause", "gateway is moved")
}

// The certificate of the plane is replaced while it runs. Until certificate and key are a pair again, new connections get
// the one before, and that is logged once.
func TestOpsReplacesItsCertificate(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	newCert, newKey, _ := certificatePEM(t)
	c := start(t, "ops", "--redis", "redis://127.0.0.1:1", "--config", file(t, "c.yaml", "log: {format: json}\nops: {address: \"127.0.0.1:0\", tls: {cert: "+cert+", key: "+key+
		"}, tokens_file: "+file(t, "tokens", cronce(t, "ops", "token", "new", "me").stderr)+"}\n"))
	eventually(t, "it is served", func() bool { return len(c.logs("ops served")) == 1 })
	if n := len(c.logs("certificate expires")); n != 1 {
		t.Errorf("%d lines warn of its end before the first connection", n)
	}
	served := func() string { return certificateOf(t, c) }
	old := read(t, cert)
	for _, x := range []struct{ file, text, want string }{{cert, newCert, old}, {cert, "", old}, {cert, newCert, old}, {key, newKey, newCert}} {
		write(t, x.file, x.text)
		if served() != x.want {
			t.Errorf("after %d bytes in %s another certificate is served", len(x.text), x.file)
		}
	}
	eventually(t, "that is logged", func() bool { return len(c.logs("secret not read again")) == 1 })
	if n := len(c.logs("certificate expires")); n != 1 { // within an hour
		t.Errorf("%d lines warn of its end", n)
	}
}

// A key that comes through a pipe is read once: to read it again would take forever.
func TestOpsWithAKeyFromAPipe(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	text := []byte(read(t, key))
	go func() { _ = os.WriteFile(pipe, text, 0) }()
	c := start(t, "ops", "--redis", "redis://127.0.0.1:1", "--config", file(t, "c.yaml", "log: {format: json}\nops: {address: \"127.0.0.1:0\", tls: {cert: "+cert+", key: "+pipe+
		"}, tokens_file: "+file(t, "tokens", cronce(t, "ops", "token", "new", "me").stderr)+"}\n"))
	eventually(t, "it is served", func() bool { return len(c.logs("ops served")) == 1 })
	for range 2 {
		if certificateOf(t, c) != read(t, cert) {
			t.Error("another certificate is served")
		}
	}
}

// certificateOf returns the certificate that a plane serves.
func certificateOf(t *testing.T, c *child) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the certificate is compared instead
	conn, err := d.DialContext(ctx, "tcp", c.logs("ops served")[0].Text("address"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw}))
}
