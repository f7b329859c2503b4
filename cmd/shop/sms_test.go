package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/shop/internal/smscommands"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

func TestSMS(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	call(t, "sms", "list", at).want(t, exit.Fine, "0 queued (0 due), 0 taken, 0 failed, 0 sent")
	send := []string{"sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at}
	call(t, send...).want(t, exit.Fine, `accepted message "one" to "+120****0123"`)
	call(t, send...).want(t, exit.Fine, "known already, nothing changed")
	call(t, "sms", "send", "--to", "+12025550123", "--text", "other", "--id", "one", at).want(t, exit.Failed, "known with other content")
	call(t, "sms", "send", "--to", "+12025550124", "--text", "x", "--at", "2999-01-01 00:00:00", "--tz", "Asia/Shanghai", at).want(t, exit.Fine, "due at 2998-12-31T16:00:00Z")
	r := call(t, "sms", "list", at)
	r.want(t, exit.Fine, "one", "+120****0123", "2998-12-31 16:00:00", "2 queued (1 due)")
	if strings.Contains(r.stdout, "2025550123") {
		t.Error("a recipient is shown")
	}
	call(t, "sms", "list", "--state", "sent", at).want(t, exit.Fine, "2 queued")
	call(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--until", "later", at).want(t, exit.WrongUsage,
		`--until is "later"`)
	call(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--until", "1999-01-01 00:00:00", "--at", "2000-01-01 00:00:00", at).want(t,
		exit.WrongUsage, "until is 1999-01-01T00:00:00Z, must be an instant after at")
	call(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--person", "a b", at).want(t, exit.WrongUsage, `person is "****"`)
	call(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--until", "2999-01-01 00:00:00", "--tz", "Asia/Shanghai", "--id", "two", at).want(t, exit.Fine)
	call(t, "sms", "get", "two", "-o", "json", at).want(t, exit.Fine, `"until": "2998-12-31T16:00:00Z"`)
	call(t, "sms", "list", at).want(t, exit.Fine, "3 queued (2 due)")
	var report smscommands.Report
	r = call(t, "sms", "list", "-n", "1", "-o", "json", at)
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || len(report.Messages) != 1 || report.Counts.Queued != 3 || report.Gateway != nil {
		t.Errorf("%v: %s", err, r.stdout)
	}
}

// A command ends with its context.
func TestSMSInterrupted(t *testing.T) {
	_, url := newRedis(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out bytes.Buffer
	if code := run(ctx, []string{"sms", "list", "--redis=" + url}, strings.NewReader(""), &out, io.Discard); code == exit.Fine || out.Len() > 0 {
		t.Errorf("exit code %d, printed %q", code, &out)
	}
}

// A message that cannot be read is listed with why, and the gateway's pause is shown;
// neither shows a recipient.
func TestSMSBroken(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	call(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at).want(t, exit.Fine)
	key := "cronce:v1:sms:{cronce}:"
	server.HSet(key+"status", "one", "?")
	_, _ = server.ZRem(key+"queued", "one")
	_, _ = server.ZAdd(key+"broken", 1, "one")
	for set, n := range map[string]int{"delivered": 2, "undelivered": 1, "repeated": 3, "expired": 4, "sent": 5} {
		for i := range n {
			_, _ = server.ZAdd(key+set, 1, fmt.Sprint(set, i))
		}
	}
	server.HSet(key+"fence", "until", "1795207852937", "pauses", "3", "reason", "the gateway answered 401")
	call(t, "sms", "list", at).want(t, exit.Fine, "1 put aside", "4 expired before", "2 delivered, 1 undelivered", "0 failed, 5 sent (3 maybe more than once)",
		"is paused until 2026-11-20 20:50:52 UTC: the gateway answered 401")
	call(t, "sms", "list", "-o", "json", at).want(t, exit.Fine, `"gateway_paused": {`)
	r := call(t, "sms", "list", "--state", "broken", at)
	r.want(t, exit.Fine, "one", "broken", "the status has 1 parts, want 9")
	if strings.Contains(r.stdout, "2025550123") {
		t.Error("a recipient is shown")
	}
}

// One message is shown, and queued again after it failed.
func TestSMSRetry(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	for _, id := range []string{"one", "two"} {
		call(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", id, at).want(t, exit.Fine)
	}
	call(t, "sms", "get", "one", at).want(t, exit.Fine, "one", "+120****0123", "queued")
	call(t, "sms", "get", "one", "-o", "json", at).want(t, exit.Fine, `"state": "queued"`, `"to": "+120****0123"`)
	key := "cronce:v1:sms:{cronce}:"
	for _, id := range []string{"one", "two"} {
		server.HSet(key+"status", id, "failed 1 1 1 1 1795207852937 1795207852937 r no")
		_, _ = server.ZRem(key+"queued", id)
		_, _ = server.ZAdd(key+"failed", 1, id)
	}
	if r := call(t, "sms", "retry", "none", "one", at); r.code != exit.Failed || r.stdout != "" {
		t.Errorf("after one that cannot be queued: exit code %d, printed %q", r.code, r.stdout)
	}
	call(t, "sms", "retry", "one", "two", at).want(t, exit.Fine, `queued message "one"`, `queued message "two"`)
	call(t, "sms", "list", at).want(t, exit.Fine, "2 queued", "0 failed")
	for _, command := range []string{"get", "retry"} {
		call(t, "sms", command, "none", at).want(t, exit.Failed, "no such message")
		call(t, "sms", command, at).want(t, exit.WrongUsage, "got 0 arguments")
		call(t, "sms", command, "one", "--redis=redis://127.0.0.1:1").want(t, exit.NotKnown)
	}
	server.HSet(key+"status", "one", "sent 1 1 1 1 1795207852937 1795207852937 r ")
	call(t, "sms", "retry", "one", at).want(t, exit.Refused, "it was sent")
	server.HSet(key+"status", "one", "?")
	call(t, "sms", "get", "one", at).want(t, exit.Failed, "broken")
}

// A node posts due messages to the configured gateway, with the token from its environment, which it
// does not log.
func TestSMSGateway(t *testing.T) {
	t.Parallel()
	requests := make(chan http.Header, 10)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.Header }))
	defer gateway.Close()
	_, url := newRedis(t)
	call(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", "--redis", url).want(t, exit.Fine)
	yaml := "shop: {address: 'off', database: {file: " + filepath.Join(t.TempDir(), "shop.db") + "}}\nsms: {gateway: http, url: '" + gateway.URL + "', token_env: GATEWAY_TOKEN}\n"
	n := startWith(t, []string{"GATEWAY_TOKEN=hunter2"}, "serve", "--config", file(t, "c.yaml", yaml), "--redis", url, "--http", "off")
	eventually(t, "a message was sent", func() bool { return len(n.logs("messages sent")) > 0 })
	if h := <-requests; h.Get("Authorization") != "Bearer hunter2" || h.Get("Idempotency-Key") != "one" {
		t.Errorf("headers %v", h)
	}
	if strings.Contains(n.stderr.String(), "hunter2") || strings.Contains(n.stderr.String(), "2025550123") {
		t.Error("the log shows a token or a recipient")
	}
	n = startWith(t, []string{"GATEWAY_TOKEN="}, "serve", "--config", file(t, "c.yaml", strings.Replace(yaml, "GATEWAY_TOKEN", "NOT_THERE", 1)), "--redis", url, "--http", "off")
	if code := n.code(); code != exit.WrongUsage || !strings.Contains(n.stderr.String(), "sms.token_env: names a variable that is not set") {
		t.Errorf("exit code %d", code)
	}
}

// A person's messages are deleted, but for those that a run has.
func TestSMSForget(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	for _, id := range []string{"a", "b", "c"} {
		for _, to := range []string{"+12025550042", "+12025550007"} {
			call(t, "sms", "send", "--person", "p-1", "--to", to, "--text", "x", "--id", id+to[9:], at).want(t, exit.Fine)
		}
	}
	call(t, "sms", "forget", "+12025550042", at).want(t, exit.Fine, "3 messages deleted")
	call(t, "sms", "forget", "+12025550042", at).want(t, exit.Fine, "0 messages deleted")
	call(t, "sms", "forget", "+1 202", at).want(t, exit.WrongUsage, "must be a number")
	call(t, "sms", "forget", at).want(t, exit.WrongUsage, "got 0 arguments")
	call(t, "sms", "forget", "+12025550007", "+12025550042", at).want(t, exit.WrongUsage, "got 2 arguments, want one number or person")
	call(t, "sms", "get", "a007", "b007", at).want(t, exit.WrongUsage, "got 2 arguments, want one message's id")
	if r := call(t, "sms", "forget", "+12025550007", "--redis=redis://127.0.0.1:1"); r.code != exit.NotKnown || r.stdout != "" {
		t.Errorf("without an answer: exit code %d, printed %q", r.code, r.stdout)
	}
	_, _ = server.ZAdd("cronce:v1:sms:{cronce}:taken", 1, "a007")
	call(t, "sms", "forget", "p-1", at).want(t, exit.Refused, "2 messages deleted", "1 message being sent")
}

// A node serves receipts where its file says, to callers that have the token.
func TestNodeReceipts(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	call(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at).want(t, exit.Fine)
	t.Setenv("EMPTY_VAR", "")
	for text, want := range map[string]string{
		"{address: '127.0.0.1:0', token_env: EMPTY_VAR}": "sms.receipts.token_env: names a variable that is empty",
		"{token_env: T}":                                 "sms.receipts.address: is missing",
		"{address: ':8082', token_env: T}":               "which other machines can reach",
		"{address: '127.0.0.1:0'}":                       "token_file are both missing",
		"{address: '127.0.0.1:0', token_env: UNSET_VAR}": "names a variable that is not set",
	} {
		path := file(t, "bad.yaml", "http: {address: off}\nshop: {address: 'off', database: {file: "+filepath.Join(t.TempDir(), "shop.db")+"}}\nsms: {gateway: console, receipts: "+text+"}\n")
		call(t, "serve", "--config", path, at).want(t, exit.WrongUsage, want)
	}
}

// A text may come from a file, or from standard input.
func TestSMSSendText(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	path := file(t, "text", "two\r\nlines\r\n")
	call(t, "sms", "send", "--to", "+12025550123", "--text-file", path, "--id", "one", at).want(t, exit.Fine, "9 characters")
	call(t, "sms", "send", "--to", "+12025550123", "--text-file", path+"x", at).want(t, exit.WrongUsage, "text:")
	call(t, "sms", "send", "--to", "+12025550123", "--text-file", path, "--text", "x", at).want(t, exit.WrongUsage, "give one of them")
	callWith(t, "می\u200cخواهم\n", "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exit.Fine, "8 characters")
	callWith(t, strings.Repeat("é", 1001), "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exit.WrongUsage, "1001 characters")
	callWith(t, "", "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exit.WrongUsage, "text is empty")
}

// Each mistake in a command line ends with exit code 2, and with a line that names it; with a store
// that does not answer nothing is known.
func TestSMSUsage(t *testing.T) {
	const url = "--redis=redis://127.0.0.1:1" // no server listens there
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sms", "lst"}, `unknown command "lst", did you mean "list"?`},
		{[]string{"sms", "send", "--to", "12", "--text", "x", url}, `to is "****", must be + and 8 to 15 digits`},
		{[]string{"sms", "send", "--to", "+12025550123", url}, "text is empty"},
		{[]string{"sms", "send", "--to", "+12025550123", "--text", "x", "--at", "now", url}, `--at is "now"`},
		{[]string{"sms", "send", "--to", "+12025550123", "--text", "x", "--tz", "Mars", url}, `--tz is "Mars"`},
		{[]string{"sms", "list", "--state", "gone", url}, `state is "gone", must be queued, taken, failed, broken, expired or sent`},
		{[]string{"sms", "list", "-n", "-1", url}, "limit is -1, must be 1 or more"},
	} {
		call(t, c.args...).want(t, exit.WrongUsage, c.want)
	}
	call(t, "sms", "list", url).want(t, exit.NotKnown, "127.0.0.1:1")
	call(t, "sms", "send", "--to", "+12025550123", "--text", "x", url).want(t, exit.NotKnown, "127.0.0.1:1")
	call(t, "sms").want(t, exit.Fine, "list", "send")
	call(t).want(t, exit.Fine, "shop oversell")
}

// A user with the rights that docs/sms.md lists, beside the rights of a scheduler, uses the outbox,
// and a node of that user sends.
func TestMinimalUserOfTheOutbox(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	admin := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer admin.Close()
	grant := func(rules ...string) {
		t.Helper()
		args := []any{"ACL", "SETUSER", "me", "on", ">hunter2"}
		for _, rule := range rules {
			args = append(args, rule)
		}
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	grant(redislock.AccessRules("cronce")...)
	at := []string{"--redis", "redis://" + s.Addr(), "--config", file(t, "c.yaml", "redis: {username: me, password_file: "+file(t, "password", "hunter2\n")+"}\n")}
	call(t, append([]string{"sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "refused"}, at...)...).want(t, exit.Refused, "sms: ")
	page, err := os.ReadFile("../../docs/sms.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(page), "needs beside [the scheduler's](redis.md#access)\n\n")
	rules, _, _ = strings.Cut(rules, "\n\n")
	grant(strings.Fields(rules)...)
	call(t, append([]string{"sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one"}, at...)...).want(t, exit.Fine, "accepted")
	call(t, append([]string{"sms", "list"}, at...)...).want(t, exit.Fine, "1 queued")
	options := &redis.Options{Addr: s.Addr(), Username: "me", Password: "hunter2"}
	redislock.Harden(options)
	client := redis.NewClient(options)
	defer client.Close()
	outbox, err := sms.NewOutbox(client, sms.Options{Namespace: "cronce"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := redislock.New(client, redislock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node, err := scheduler.New(scheduler.Config{Store: store, Jobs: []scheduler.Job{sms.Job(outbox, sms.NewConsole(io.Discard))}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	eventually(t, "the message is sent", func() bool {
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
		counts, err := outbox.Counts(t.Context())
		return err == nil && counts.Sent == 1
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
