package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs/sms"
)

func TestSMS(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	cronce(t, "sms", "list", at).want(t, exitFine, "0 queued (0 due), 0 taken, 0 failed, 0 sent")
	send := []string{"sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at}
	cronce(t, send...).want(t, exitFine, `accepted message "one" to "+120****0123"`)
	cronce(t, send...).want(t, exitFine, "known already, nothing changed")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "other", "--id", "one", at).want(t, exitFailed, "known with other content")
	cronce(t, "sms", "send", "--to", "+12025550124", "--text", "x", "--at", "2999-01-01 00:00:00", "--tz", "Asia/Shanghai", at).want(t, exitFine, "due at 2998-12-31T16:00:00Z")
	r := cronce(t, "sms", "list", at)
	r.want(t, exitFine, "one", "+120****0123", "2998-12-31 16:00:00", "2 queued (1 due)")
	if strings.Contains(r.stdout, "2025550123") {
		t.Error("a recipient is shown")
	}
	cronce(t, "sms", "list", "--state", "sent", at).want(t, exitFine, "2 queued")
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--priority", "soon", "--until", "later", at).want(t, exitUsage,
		`priority is "soon", allowed is urgent, normal or low`, `--until: at is "later"`)
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--priority", "urgent", "--until", "1999-01-01 00:00:00", "--at", "2000-01-01 00:00:00", at).want(t,
		exitUsage, "until is 1999-01-01T00:00:00Z, allowed is an instant after at")
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--zone", "Mars/Base", "--person", "a b", at).want(t, exitUsage,
		`zone is "Mars/Base"`, `person is "****"`)
	cronce(t, "sms", "send", "--to", "+12025550125", "--text", "x", "--priority", "urgent", "--until", "2999-01-01 00:00:00", "--zone", "Asia/Tokyo", "--person", "p-1", at).want(t, exitFine)
	cronce(t, "sms", "list", at).want(t, exitFine, "3 queued (2 due)")
	var report smsReport
	r = cronce(t, "sms", "list", "-n", "1", "-o", "json", at)
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || len(report.Messages) != 1 || report.Counts.Queued != 3 || report.Messages[0].Priority != sms.Urgent {
		t.Errorf("%v: %s", err, r.stdout)
	}
}

// A message that cannot be read is listed with why, and the gateway's pause is shown;
// neither shows a recipient.
func TestSMSBroken(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at).want(t, exitFine)
	key := "cronce:v1:sms:{cronce}:"
	server.HSet(key+"status", "one", "?")
	_, _ = server.ZRem(key+"queued", "one")
	_, _ = server.ZAdd(key+"broken", 1, "one")
	server.HSet(key+"fence", "until", "1795207852937", "pauses", "3", "reason", "the gateway answered 401")
	cronce(t, "sms", "list", at).want(t, exitFine, "1 put aside", "is asked again at 2026-11-20", "the gateway answered 401")
	r := cronce(t, "sms", "list", "--broken", at)
	r.want(t, exitFine, "one", "broken", "the status has 1 parts, want 9")
	if strings.Contains(r.stdout, "2025550123") {
		t.Error("a recipient is shown")
	}
	cronce(t, "sms", "list", "--broken", "--state", "sent", at).want(t, exitUsage, "--state and --broken")
}

// One message is shown, cancelled, and queued again.
func TestSMSAmend(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", at).want(t, exitFine)
	cronce(t, "sms", "get", "one", at).want(t, exitFine, "one", "+120****0123", "queued")
	cronce(t, "sms", "get", "one", "-o", "json", at).want(t, exitFine, `"state": "queued"`, `"to": "+120****0123"`)
	cronce(t, "sms", "cancel", "one", at).want(t, exitFine, `cancelled message "one"`)
	cronce(t, "sms", "list", at).want(t, exitFine, "1 cancelled", "0 queued")
	cronce(t, "sms", "retry", "--failed", at).want(t, exitFine, "0 messages queued again")
	cronce(t, "sms", "retry", "one", at).want(t, exitFine, `queued message "one"`)
	for _, command := range []string{"get", "retry", "cancel"} {
		cronce(t, "sms", command, "none", at).want(t, exitFailed, "no such message")
		cronce(t, "sms", command, at).want(t, exitUsage, "one message's id")
		cronce(t, "sms", command, "one", "--redis=redis://127.0.0.1:1").want(t, exitUnknown)
	}
	cronce(t, "sms", "retry", "one", "--failed", at).want(t, exitUsage, "allowed is one of them")
	key := "cronce:v1:sms:{cronce}:"
	server.HSet(key+"status", "one", "sent 1 1 1 1 1795207852937 1795207852937 r ")
	cronce(t, "sms", "cancel", "one", at).want(t, exitRefused, "it was sent")
	cronce(t, "sms", "retry", "one", at).want(t, exitRefused, "it was sent")
	server.HSet(key+"status", "one", "?")
	cronce(t, "sms", "get", "one", at).want(t, exitFailed, "broken")
}

// Bad rows are listed with their line, good ones kept; imported again, nothing is new.
func TestSMSImport(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	const bad = "../../jobs/sms/testdata/bad.csv"
	r := cronce(t, "sms", "import", bad, at)
	r.want(t, exitFailed, "line 3: to is", "line 7: text is empty", "3 accepted")
	if strings.Contains(r.stdout+r.stderr, "202555") {
		t.Error("a recipient is shown")
	}
	cronce(t, "sms", "import", bad, at).want(t, exitFailed, "0 accepted, 4 known already")
	const rows = "to,text,at\n+12025550123,hello,2025-06-01 12:00:00\n"
	cronceWith(t, rows, "sms", "import", "-", "--tz", "Europe/Berlin", at).want(t, exitFine, "1 rows: 1 accepted")
	cronce(t, "sms", "list", at).want(t, exitFine, "2025-06-01 10:00:00")
	cronceWith(t, "number\n1\n", "sms", "import", "-", at).want(t, exitFailed, "line 1: ")
}

// A node posts what is due to the gateway that the file names, with the token
// that its environment has and its log does not.
func TestSMSGateway(t *testing.T) {
	t.Parallel()
	requests := make(chan http.Header, 10)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.Header }))
	defer gateway.Close()
	_, url := newRedis(t)
	cronce(t, "sms", "send", "--to", "+12025550123", "--text", "hi", "--id", "one", "--redis", url).want(t, exitFine)
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
	if code := n.code(); code != exitUsage || !strings.Contains(n.stderr.String(), "jobs[0].sms.token_env: names a variable that is not set") {
		t.Errorf("exit code %d", code)
	}
}
