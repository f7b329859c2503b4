package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/jobs/sms"
)

// An import with --resume keeps its place while it is not done, goes on from it, and refuses
// another file.
func TestSMSImportResume(t *testing.T) {
	server, url := newRedis(t)
	at := "--redis=" + url
	var csv strings.Builder
	csv.WriteString("to,text\n")
	for i := range 1000 {
		fmt.Fprintf(&csv, "+1202%07d,x\n", i)
	}
	path := file(t, "messages.csv", csv.String())
	place := path + ".resume"
	server.SetError("READONLY no")
	cronce(t, "sms", "import", path, "--resume", at).want(t, exit.NotKnown)
	server.SetError("")
	if _, err := os.Stat(place); err == nil {
		t.Error("nothing was imported, and there is a place")
	}
	// As if it had been killed behind 400 rows.
	var c sms.Checkpoint
	_, _ = sms.ImportWith(t.Context(), smsOutbox(t, url), strings.NewReader(csv.String()), sms.ImportOptions{Progress: func(now sms.Checkpoint) {
		if now.Rows == 400 {
			c = now
		}
	}})
	reached, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	write(t, place, string(reached))
	server.FlushAll()
	cronce(t, "sms", "import", path, "--resume", at).want(t, exit.Fine, "1000 rows: 1000 accepted, 0 known already")
	cronce(t, "sms", "list", at).want(t, exit.Fine, "600 queued")
	if left, _ := filepath.Glob(path + ".resume*"); len(left) > 0 {
		t.Errorf("done, and %v is left", left)
	}
	write(t, place, string(reached))
	if err := os.WriteFile(path, []byte("to,text\n+12025550101,other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cronce(t, "sms", "import", path, "--resume", at).want(t, exit.Failed, "does not begin with the rows")
	if err := os.WriteFile(place, []byte(`{"rows":5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cronce(t, "sms", "import", path, "--resume", at).want(t, exit.WrongUsage, "its numbers do not add up")
	cronce(t, "sms", "import", "-", "--resume", at).want(t, exit.WrongUsage, "--resume with a file")
}

func smsOutbox(t *testing.T, url string) *sms.Outbox {
	t.Helper()
	c, err := nodeConfig(t, "--config", file(t, "n.yaml", "jobs: [{kind: sleep, name: a, spec: '@daily'}]\n"), "--redis", url)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clients.Redis(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	o, err := sms.NewOutbox(client, sms.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o
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
