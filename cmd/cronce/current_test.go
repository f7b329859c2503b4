//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
)

// A node continues while the password, the certificates and the authority of its Redis are
// replaced: new connections use the current files.
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
	var reported []string
	c.OnStale(func(err error) { reported = append(reported, err.Error()) })
	client, err := clients.Redis(c)
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

	if len(reported) != 1 || !strings.Contains(reported[0], "no pair") {
		t.Errorf("reported %q, want once that the files are no pair", reported)
	}
	if err := os.Remove(password); err != nil {
		t.Fatal(err)
	}
	ping("without the file the last password is used on", true)
	if len(reported) != 2 || !strings.Contains(reported[1], "redis.password_file") || strings.Contains(strings.Join(reported, " "), "two") {
		t.Errorf("reported %q", reported)
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
