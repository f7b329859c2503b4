package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/smscommands"
)

func TestSMS(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	cronce(t, "sms", "list", at).want(t, exit.Fine, "0 queued (0 due), 0 taken, 0 failed, 0 sent")
	send := []string{"sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at}
	cronce(t, send...).want(t, exit.Fine, `accepted message "one" to "+120****0123"`)
	cronce(t, send...).want(t, exit.Fine, "known already, nothing changed")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "other", "--id", "one", at).want(t, exit.Failed, "known with other content")
	cronce(t, "sms", "send", "--to", "+12025550124", "--text", "x", "--at", "2999-01-01 00:00:00", "--tz", "Asia/Shanghai", at).want(t, exit.Fine, "due at 2998-12-31T16:00:00Z")
	r := cronce(t, "sms", "list", at)
	r.want(t, exit.Fine, "one", "+120****0123", "2998-12-31 16:00:00", "2 queued (1 due)")
	if strings.Contains(r.stdout, "2025550123") {
		t.Error("a recipient is shown")
	}
	cronce(t, "sms", "list", "--state", "sent", at).want(t, exit.Fine, "2 queued")
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--until", "later", at).want(t, exit.WrongUsage,
		`--until is "later"`)
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--until", "1999-01-01 00:00:00", "--at", "2000-01-01 00:00:00", at).want(t,
		exit.WrongUsage, "until is 1999-01-01T00:00:00Z, must be an instant after at")
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--person", "a b", at).want(t, exit.WrongUsage, `person is "****"`)
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--until", "2999-01-01 00:00:00", "--person", "p-1", at).want(t, exit.Fine)
	cronce(t, "sms", "list", at).want(t, exit.Fine, "3 queued (2 due)")
	var report smscommands.Report
	r = cronce(t, "sms", "list", "-n", "1", "-o", "json", at)
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || len(report.Messages) != 1 || report.Counts.Queued != 3 {
		t.Errorf("%v: %s", err, r.stdout)
	}
}

// A message that cannot be read is listed with why, and the gateway's pause is shown;
// neither shows a recipient.
func TestSMSBroken(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at).want(t, exit.Fine)
	key := "cronce:v1:sms:{cronce}:"
	server.HSet(key+"status", "one", "?")
	_, _ = server.ZRem(key+"queued", "one")
	_, _ = server.ZAdd(key+"broken", 1, "one")
	server.HSet(key+"fence", "until", "1795207852937", "pauses", "3", "reason", "the gateway answered 401")
	cronce(t, "sms", "list", at).want(t, exit.Fine, "1 put aside", "is paused until 2026-11-20", "the gateway answered 401")
	r := cronce(t, "sms", "list", "--state", "broken", at)
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
		cronce(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", id, at).want(t, exit.Fine)
	}
	cronce(t, "sms", "get", "one", at).want(t, exit.Fine, "one", "+120****0123", "queued")
	cronce(t, "sms", "get", "one", "-o", "json", at).want(t, exit.Fine, `"state": "queued"`, `"to": "+120****0123"`)
	key := "cronce:v1:sms:{cronce}:"
	for _, id := range []string{"one", "two"} {
		server.HSet(key+"status", id, "failed 1 1 1 1 1795207852937 1795207852937 r no")
		_, _ = server.ZRem(key+"queued", id)
		_, _ = server.ZAdd(key+"failed", 1, id)
	}
	cronce(t, "sms", "retry", "one", "two", at).want(t, exit.Fine, `queued message "one"`, `queued message "two"`)
	cronce(t, "sms", "list", at).want(t, exit.Fine, "2 queued", "0 failed")
	for _, command := range []string{"get", "retry"} {
		cronce(t, "sms", command, "none", at).want(t, exit.Failed, "no such message")
		cronce(t, "sms", command, at).want(t, exit.WrongUsage, "got 0 arguments")
		cronce(t, "sms", command, "one", "--redis=redis://127.0.0.1:1").want(t, exit.NotKnown)
	}
	server.HSet(key+"status", "one", "sent 1 1 1 1 1795207852937 1795207852937 r ")
	cronce(t, "sms", "retry", "one", at).want(t, exit.Refused, "it was sent")
	server.HSet(key+"status", "one", "?")
	cronce(t, "sms", "get", "one", at).want(t, exit.Failed, "broken")
}

// A node posts what is due to the gateway that the file names, with the token
// that its environment has and its log does not.
func TestSMSGateway(t *testing.T) {
	t.Parallel()
	requests := make(chan http.Header, 10)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.Header }))
	defer gateway.Close()
	_, url := newRedis(t)
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", "--redis", url).want(t, exit.Fine)
	yaml := "jobs:\n- kind: sms\n  spec: '@every 1s'\n  sms: {gateway: http, url: '" + gateway.URL + "', token_env: GATEWAY_TOKEN}\n"
	n := startWith(t, []string{"GATEWAY_TOKEN=hunter2"}, "node", "--config", file(t, "c.yaml", yaml), "--redis", url, "--http", "off")
	eventually(t, "a message was sent", func() bool { return len(n.logs("messages sent")) > 0 })
	if h := <-requests; h.Get("Authorization") != "Bearer hunter2" || h.Get("Idempotency-Key") != "one" {
		t.Errorf("headers %v", h)
	}
	if strings.Contains(n.stderr.String(), "hunter2") || strings.Contains(n.stderr.String(), "2025550123") {
		t.Error("the log shows a token or a recipient")
	}
	n = startWith(t, []string{"GATEWAY_TOKEN="}, "node", "--config", file(t, "c.yaml", strings.Replace(yaml, "GATEWAY_TOKEN", "NOT_THERE", 1)), "--redis", url, "--http", "off")
	if code := n.code(); code != exit.WrongUsage || !strings.Contains(n.stderr.String(), "jobs[0].sms.token_env: names a variable that is not set") {
		t.Errorf("exit code %d", code)
	}
}

// A person's messages are deleted, but for those that a run has.
func TestSMSForget(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	for _, id := range []string{"a", "b", "c"} {
		for _, to := range []string{"+12025550042", "+12025550007"} {
			cronce(t, "sms", "send", "--to", to, "--text", "x", "--id", id+to[9:], at).want(t, exit.Fine)
		}
	}
	cronce(t, "sms", "forget", "+12025550042", at).want(t, exit.Fine, "3 messages deleted")
	cronce(t, "sms", "forget", "+12025550042", at).want(t, exit.Fine, "0 messages deleted")
	cronce(t, "sms", "forget", "+1 202", at).want(t, exit.WrongUsage, "must be a number")
	cronce(t, "sms", "forget", at).want(t, exit.WrongUsage, "got 0 arguments")
	_, _ = server.ZAdd("cronce:v1:sms:{cronce}:taken", 1, "a007")
	cronce(t, "sms", "forget", "+12025550007", at).want(t, exit.Refused, "2 messages deleted", "1 message being sent")
}

// A node serves receipts where its file says, to callers that have the token.
func TestNodeReceipts(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at).want(t, exit.Fine)
	for text, want := range map[string]string{
		"{token_env: T}":                                 "jobs[0].sms.receipts.address: is missing",
		"{address: ':8082', token_env: T}":               "which other machines can reach",
		"{address: '127.0.0.1:0'}":                       "token_file are both missing",
		"{address: '127.0.0.1:0', token_env: UNSET_VAR}": "names a variable that is not set",
	} {
		path := file(t, "bad.yaml", "http: {address: off}\njobs: [{kind: sms, sms: {gateway: console, receipts: "+text+"}}]\n")
		cronce(t, "node", "--config", path, at).want(t, exit.WrongUsage, want)
	}
}

// A text may come from a file, or from standard input.
func TestSMSSendText(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	path := file(t, "text", "two\r\nlines\r\n")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text-file", path, "--id", "one", at).want(t, exit.Fine, "9 characters")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text-file", path+"x", at).want(t, exit.WrongUsage, "text:")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text-file", path, "--text", "x", at).want(t, exit.WrongUsage, "give one of them")
	cronceWith(t, "می\u200cخواهم\n", "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exit.Fine, "8 characters")
	cronceWith(t, strings.Repeat("é", 1001), "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exit.WrongUsage, "1001 characters")
	cronceWith(t, "", "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exit.WrongUsage, "text is empty")
}
