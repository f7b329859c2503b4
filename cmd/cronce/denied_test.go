package main

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
)

// A user that may not read the keys of one job is refused only that job: the exit code reports it,
// the others are proven, and doctor checks them. This is no fault of the store, unlike a key of
// another type, and faults elsewhere come first.
func TestDeniedJob(t *testing.T) {
	t.Parallel()
	url := "redis://" + redisserver.Start(t).Addr()
	admin := storeAt(t, url, func(*config.Config) {})
	for _, job := range []string{"job", "other", "secret"} {
		opened(t, admin, job)
	}
	const prefix = "cronce:v1:{cronce.0}:"
	rules := []string{"on", ">pw", "&*", "+@all", "~cronce:v1:[a-z]*", "~" + prefix + "[a-z][a-z]*", "~" + prefix + "?:job", "~" + prefix + "?:other"}
	if err := admin.Client.ACLSetUser(t.Context(), "looker", rules...).Err(); err != nil {
		t.Fatal(err)
	}
	config := file(t, "c.yaml", "redis: {username: looker, password_file: "+file(t, "password", "pw")+"}\n")
	run := func(command string) result { return cronce(t, command, "--redis", url, "--config", config) }
	r := run("verify")
	r.want(t, exit.Refused, "secret: NOT KNOWN ", "NOPERM")
	for _, job := range []string{"job", "other"} {
		if row := line(r.stdout, job+" "); row == "" || line(r.stdout, job+": ") != "" {
			t.Errorf("of %s verify says %q: %s", job, row, r.stdout)
		}
	}
	cronce(t, "status", "overdue", "--redis", url, "--config", config).want(t, exit.Refused, "NOT KNOWN secret: ", "NOPERM")
	d := run("doctor")
	d.want(t, exit.Refused, `not known of job "secret"`, `the state of job "secret" cannot be read`)
	if line(d.stdout, `refuse  marks     the state of job "job"`) != "" {
		t.Errorf("doctor cannot read a job that the user may read: %s", d.stdout)
	}
	for _, command := range []string{"runs secret", "status", "status jobs"} {
		args := append(strings.Fields(command), "--redis", url, "--config", config)
		cronce(t, args...).want(t, exit.Refused, "the user has no permission")
	}
	if err := admin.Client.Set(t.Context(), prefix+"s:foreign", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	opened(t, admin, "broken")
	if err := admin.Client.ACLSetUser(t.Context(), "looker", "~"+prefix+"?:broken").Err(); err != nil {
		t.Fatal(err)
	}
	key := prefix + "j:broken"
	line := admin.Client.LIndex(t.Context(), key, 0).Val()
	if err := admin.Client.RPush(t.Context(), key, line).Err(); err != nil { // opened again at the same instant
		t.Fatal(err)
	}
	run("verify").want(t, exit.Failed, "BROKEN: ", "secret: NOT KNOWN ")
}

// A user that may read but not write cannot hold a lock: a call that would wait without end says so.
func TestDeniedLock(t *testing.T) {
	t.Parallel()
	url := "redis://" + redisserver.Start(t).Addr()
	admin := storeAt(t, url, func(*config.Config) {})
	rules := append([]string{"on", ">pw"}, redislock.ReadRules("cronce")...)
	if err := admin.Client.ACLSetUser(t.Context(), "reader", rules...).Err(); err != nil {
		t.Fatal(err)
	}
	config := file(t, "c.yaml", "redis: {username: reader, password_file: "+file(t, "password", "pw")+"}\n")
	r := cronce(t, under(url, []string{"--config", config}, "echo ran")...)
	r.want(t, exit.Refused, "the user has no permission")
	if r.stdout != "" {
		t.Error("the command ran")
	}
}

// line returns the line of a text that begins with something.
func line(text, begin string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, begin) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}
