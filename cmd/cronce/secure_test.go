//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
)

// certificate makes a certificate that is its own authority, for both ends.
func certificate(t *testing.T) (certFile, keyFile string, pair tls.Certificate) {
	t.Helper()
	certPEM, keyPEM, pair := certificatePEM(t)
	return file(t, "cert.pem", certPEM), file(t, "key.pem", keyPEM), pair
}

func certificatePEM(t *testing.T) (cert, keyText string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return string(certPEM), string(keyPEM), pair
}

// A Redis that requires a client certificate is reached with ca, cert and key, and not without
// them.
func TestTLSServer(t *testing.T) {
	cert, key, pair := certificate(t)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	m := miniredis.NewMiniRedis()
	if err := m.StartAddrTLS("127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	with := "redis:\n  tls: {ca: " + cert + ", cert: " + cert + ", key: " + key + "}\n"
	cronce(t, "lock", "key", "--show", "--redis", "rediss://"+m.Addr(), "--config", file(t, "with.yaml", with)).want(t, exit.Fine)
	cronce(t, "lock", "key", "--show", "--redis", "rediss://"+m.Addr()).want(t, exit.NotKnown, "rediss://"+m.Addr())
	without := "redis:\n  tls: {ca: " + cert + "}\n"
	cronce(t, "lock", "key", "--show", "--redis", "redis://"+m.Addr(), "--config", file(t, "without.yaml", without)).want(t, exit.NotKnown, "redis://"+m.Addr())
}

// documentedACL reads the rules of a user out of docs/redis.md.
func documentedACL(t *testing.T, user string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Access\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for paragraph := range strings.SplitSeq(section, "\n\n") {
		if strings.HasPrefix(paragraph, "    ACL SETUSER "+user+" ") {
			blocks = append(blocks, paragraph)
		}
	}
	if len(blocks) != 1 {
		t.Fatalf("docs/redis.md has %d lists of rules of %s, want 1", len(blocks), user)
	}
	_, rules, ok := strings.Cut(blocks[0], ">password ")
	if !ok {
		t.Fatalf("no rules in %q", blocks[0])
	}
	return strings.ReplaceAll(rules, "<namespace>", "cronce")
}

// The documentation and the package name the same rules.
func TestDocumentedACL(t *testing.T) {
	for user, rules := range map[string][]string{"cronce": redislock.AccessRules("cronce"), "reader": redislock.ReadRules("cronce")} {
		got, want := strings.Fields(documentedACL(t, user)), strings.Fields(strings.Join(rules, " "))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("of %s docs/redis.md has %q, redislock %q", user, got, want)
		}
	}
}

// setUser gives a user further rules.
func setUser(t *testing.T, admin *redis.Client, user string, rules []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user, "on", ">hunter2"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// A user that may only read is enough for every command that reads, and for the pages.
func TestReadingUser(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	admin := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer admin.Close()
	if err := admin.ACLSetUser(t.Context(), "selector", "(+get)").Err(); err != nil {
		t.Skip("the server has no selectors: ", err) // Redis 6.2
	}
	setUser(t, admin, "reader", redislock.ReadRules("cronce"))
	n := startNode(t, "redis://"+s.Addr(), everySecond)
	eventually(t, "the end of a run", func() bool { return len(n.logs("run finished")) > 0 })
	config := file(t, "c.yaml", "redis:\n  username: reader\n  password_file: "+file(t, "password", "hunter2\n")+"\n"+everySecond)
	for _, command := range []string{"status", "status jobs", "status nodes", "runs", "why a last", "verify", "audit"} {
		r := cronce(t, append(strings.Fields(command), "--redis", "redis://reader@"+s.Addr(), "--config", config)...)
		if r.code > exit.Failed || r.stderr != "" { // a slow node is overdue
			t.Errorf("%s: %+v", command, r)
		}
	}
	if r := cronce(t, "pause", "a", "--reason", "gateway", "--redis", "redis://reader@"+s.Addr(), "--config", config); r.code == exit.Fine {
		t.Errorf("a reader has paused a job: %+v", r)
	}
	made := cronce(t, "ops", "token", "new", "me", "--role", "operator")
	plane := start(t, "ops", "--redis", "redis://reader@"+s.Addr(), "--config", file(t, "c.yaml", "redis:\n  username: reader\n  password_file: "+file(t, "password", "hunter2\n")+
		"\nlog: {format: json}\nops: {address: \"127.0.0.1:0\", tokens_file: "+file(t, "tokens", made.stderr)+"}\n"))
	eventually(t, "the pages are served", func() bool { return len(plane.logs("ops served")) == 1 })
	base := "http://" + plane.logs("ops served")[0].Text("address")
	send := func(method, path string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(`{"reason": "gateway"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(made.stdout))
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	for _, page := range []string{"/readyz", "/jobs/a", "/jobs/a/runs", "/runs", "/nodes", "/audit", "/api/v1/jobs/a/runs", "/metrics"} {
		eventually(t, page+" is served", func() bool { return send(http.MethodGet, page) == http.StatusOK })
	}
	if code := send(http.MethodPost, "/api/v1/jobs/a/pause"); code < 400 {
		t.Errorf("a reader's plane has paused a job: %d", code)
	}
}

// A user with only the documented rights can run a node, which warns of the requests that it cannot
// make; a strict node does not start.
func TestMinimalUser(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	admin := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer admin.Close()
	setUser(t, admin, "me", redislock.AccessRules("cronce"))
	yaml := "redis:\n  username: me\n  password_file: " + file(t, "password", "hunter2\n") + "\n"
	config := file(t, "c.yaml", yaml+everySecond)
	n := startNode(t, "redis://"+s.Addr(), yaml+everySecond)
	eventually(t, "a run", func() bool { return len(n.logs("run started")) > 0 })
	if len(n.logs("store risk")) == 0 || strings.Contains(n.stderr.String(), "hunter2") {
		t.Error("no warning of what the user may not ask, or the password")
	}
	cronce(t, "verify", "--redis", "redis://me@"+s.Addr(), "--config", config).want(t, exit.Fine)
	strict := startNode(t, "redis://"+s.Addr(), strings.Replace(yaml, "redis:\n", "redis:\n  strict: true\n", 1)+everySecond)
	if code := strict.code(); code != exit.Refused || !strings.Contains(strict.stderr.String(), "does not report") {
		t.Errorf("exit code %d", code)
	}
}
