package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	cronce(t, "sms", "import", path, "--resume", at).want(t, exitUnknown)
	server.SetError("")
	if _, err := os.Stat(place); err == nil {
		t.Error("nothing was imported, and there is a place")
	}
	// As if it had been killed behind 400 rows.
	var c sms.Checkpoint
	p := importPlace{file: place}
	_, _ = sms.ImportWith(t.Context(), smsOutbox(t, url), strings.NewReader(csv.String()), sms.ImportOptions{Progress: func(now sms.Checkpoint) {
		if now.Rows == 400 {
			c = now
			p.reached(c)
		}
	}})
	server.FlushAll()
	cronce(t, "sms", "import", path, "--resume", at).want(t, exitFine, "1000 rows: 1000 accepted, 0 known already")
	cronce(t, "sms", "list", at).want(t, exitFine, "600 queued")
	if left, _ := filepath.Glob(path + ".resume*"); len(left) > 0 {
		t.Errorf("done, and %v is left", left)
	}
	p.save()
	if err := os.WriteFile(path, []byte("to,text\n+12025550101,other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cronce(t, "sms", "import", path, "--resume", at).want(t, exitFailed, "does not begin with the rows")
	if err := os.WriteFile(place, []byte(`{"rows":5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cronce(t, "sms", "import", path, "--resume", at).want(t, exitUsage, "its numbers do not add up")
	cronce(t, "sms", "import", "-", "--resume", at).want(t, exitUsage, "--resume with a file")
}

func smsOutbox(t *testing.T, url string) *sms.Outbox {
	t.Helper()
	c, err := nodeConfig(t, "--config", file(t, "n.yaml", "jobs: [{kind: sleep, name: a, spec: '@daily'}]\n"), "--redis", url)
	if err != nil {
		t.Fatal(err)
	}
	client, err := newClient(c)
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

// The bar is drawn on a terminal alone, and no more than ten times a second.
func TestProgress(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b, strings.NewReader("0123456789"))
	p.show(1)
	if p.end(); b.Len() > 0 {
		t.Errorf("no terminal, and it shows %q", b.String())
	}
	p.w, p.size = &b, 20
	if _, err := io.ReadAll(p); err != nil {
		t.Fatal(err)
	}
	p.show(1)
	p.show(2)
	if want := "\r[===============               ]  50%  1 row\x1b[K"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	p.shown = time.Now().Add(-showEvery)
	p.size = 0
	p.show(2)
	if p.end(); !strings.HasSuffix(b.String(), "\r2 rows\x1b[K\r\x1b[K") {
		t.Errorf("%q", b.String())
	}
}

// A text may come from a file, or from standard input.
func TestSMSSendText(t *testing.T) {
	_, url := newRedis(t)
	at := "--redis=" + url
	path := file(t, "text", "two\r\nlines\r\n")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text-file", path, "--id", "one", at).want(t, exitFine, "9 characters")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text-file", path+"x", at).want(t, exitUsage, "text:")
	cronce(t, "sms", "send", "--to", "+12025550123", "--text-file", path, "--text", "x", at).want(t, exitUsage, "allowed is one of them")
	cronceWith(t, "می\u200cخواهم\n", "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exitFine, "8 characters")
	cronceWith(t, strings.Repeat("é", 1001), "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exitUsage, "1001 characters")
	cronceWith(t, "", "sms", "send", "--to", "+12025550123", "--text", "-", at).want(t, exitUsage, "text is empty")
}
