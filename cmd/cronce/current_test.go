//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/jobs/sms"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A node goes on through a rotation of the password, the certificates and their
// authority of its Redis: new connections are made with what the files have then.
func TestRotation(t *testing.T) {
	cert, key, _ := certificate(t)
	password := file(t, "password", "one\n")
	port := fmt.Sprint(serverprocess.FreePort())
	server := redisserver.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer admin.Close()
	do := func(args ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	do("ACL", "SETUSER", "me", "on", ">one", "allkeys", "allcommands", "allchannels")
	ours, oursKey := file(t, "ours.pem", read(t, cert)), file(t, "ourskey.pem", read(t, key))
	c, err := nodeConfig(t, "--redis", "rediss://me@127.0.0.1:"+port, "--config", file(t, "c.yaml",
		"redis: {password_file: "+password+", tls: {ca: "+ours+", cert: "+ours+", key: "+oursKey+"}}\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	c.stale = func(err error) { told = append(told, err.Error()) }
	client, err := newClient(c)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	again := func() error {
		t.Helper()
		do("CLIENT", "KILL", "USER", "me")
		err := client.Ping(t.Context()).Err()
		if err != nil { // of a connection that was killed
			err = client.Ping(t.Context()).Err()
		}
		return err
	}
	ping := func(what string, want bool) {
		t.Helper()
		if err := again(); (err == nil) != want {
			t.Fatalf("%s: %v", what, err)
		}
	}
	ping("at the start", true)

	do("ACL", "SETUSER", "me", "resetpass", ">two")
	ping("the server has another password", false)
	write(t, password, "two\n")
	ping("and the file has it", true)

	newCert, newKey, _ := certificatePEM(t)
	do("CONFIG", "SET", "tls-cert-file", file(t, "new.pem", newCert), "tls-key-file", file(t, "newkey.pem", newKey), "tls-ca-cert-file", file(t, "newca.pem", newCert))
	ping("the server has another certificate", false)
	write(t, ours, newCert)
	ping("ours is no pair yet", false)
	write(t, oursKey, newKey)
	ping("and the files have it", true)

	if len(told) != 1 || !strings.Contains(told[0], "no pair") {
		t.Errorf("told %q, want once that the files are no pair", told)
	}
	if err := os.Remove(password); err != nil {
		t.Fatal(err)
	}
	ping("without the file the last password is used on", true)
	if len(told) != 2 || !strings.Contains(told[1], "redis.password_file") || strings.Contains(strings.Join(told, " "), "two") {
		t.Errorf("told %q", told)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The gateway's token is that of the file at the time of the request.
func TestTokenRotation(t *testing.T) {
	seen := make(chan string, 2)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") }))
	defer gateway.Close()
	token := file(t, "token", "one\n")
	g, err := defaultConfig().gateway("jobs[0].sms", &smsConfig{Gateway: "http", URL: gateway.URL, TokenFile: token}, parts{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		write(t, token, want+"\n")
		if err := g.Send(t.Context(), sms.Message{ID: "a", To: "+12025550123", Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != "Bearer "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The shop connects with the DSN that its file has at that time, to the same kind of database.
func TestDSNRotation(t *testing.T) {
	dsn := file(t, "dsn", "mysql://one:x@127.0.0.1:1/db\n")
	c := defaultConfig()
	var told []string
	c.stale = func(err error) { told = append(told, err.Error()) }
	first, dialect, err := connectorOf("mysql://one:x@127.0.0.1:1/db")
	if err != nil {
		t.Fatal(err)
	}
	connector, err := c.rereadDSN(dsn, dialect)
	if err != nil {
		t.Fatal(err)
	}
	if connector.Driver() != first.Driver() {
		t.Error("another driver")
	}
	at := func() string { _, err := connector.Connect(t.Context()); return fmt.Sprint(err) }
	if got := at(); !strings.Contains(got, "127.0.0.1:1:") {
		t.Error(got)
	}
	write(t, dsn, "mysql://two:x@127.0.0.1:2/db\n")
	if got := at(); !strings.Contains(got, "127.0.0.1:2:") {
		t.Error(got)
	}
	write(t, dsn, "postgres://two:s3cr3t@127.0.0.1:3/db\n")
	if got := at(); !strings.Contains(got, "127.0.0.1:2:") || len(told) != 1 || strings.Contains(told[0], "s3cr3t") {
		t.Errorf("%s, told %q", got, told)
	}
}

// A pipe is read once; what was in it stays.
func TestPipeIsReadOnce(t *testing.T) {
	name := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(name, []byte("one"), 0) }()
	calls := 0
	c, err := newCurrent(nil, func() (string, error) {
		if calls++; calls > 1 {
			return "", errors.New("read again")
		}
		text, err := boundedfile.Read(name, 10)
		return string(text), err
	}, name)
	if err != nil || c.value() != "one" || c.value() != "one" || calls != 1 {
		t.Errorf("%q, %v, %d calls", c.last, err, calls)
	}
}
