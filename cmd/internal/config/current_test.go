//go:build unix

package config

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
	"github.com/cronce/cronce/ops/access"
)

// A pipe is read once, and its content stays in use.
func TestPipeIsReadOnce(t *testing.T) {
	name := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(name, []byte("one"), 0) }()
	calls := 0
	c, err := NewCurrent(Default(nil), func() (string, error) {
		if calls++; calls > 1 {
			return "", errors.New("read again")
		}
		text, err := boundedfile.Read(name, 10)
		return string(text), err
	}, name)
	if err != nil || c.Value() != "one" || c.Value() != "one" || calls != 1 {
		t.Errorf("%q, %v, %d calls", c.last, err, calls)
	}
}

// A token that the file no longer names is refused at once: its line is gone or broken, or the file is
// empty or gone. A file that is whole again is used again.
func TestTokensThatAreGone(t *testing.T) {
	name := t.TempDir() + "/tokens"
	line := func(id string) string {
		token, _, err := access.NewToken(id, access.Viewer)
		if err != nil {
			t.Fatal(err)
		}
		return token.Line() + "\n"
	}
	a, b := line("a"), line("b")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(a + b)
	c := Default(nil)
	c.Ops = &Ops{TokensFile: name}
	reported := 0
	c.OnStale(func(error) { reported++ })
	tokens, err := c.OpsTokens()
	if err != nil {
		t.Fatal(err)
	}
	want := func(ids string) {
		t.Helper()
		got := ""
		for _, token := range tokens() {
			got += token.ID
		}
		if got != ids {
			t.Errorf("the tokens of %q are accepted, want %q", got, ids)
		}
	}
	want("ab")
	put(b)
	want("b")
	put("a viewer broken\n" + b)
	want("b")
	put("")
	want("")
	put(a)
	want("a")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	want("")
	put(a + b)
	want("ab")
	if reported != 2 {
		t.Errorf("%d faults are reported, want one for each time in which the file has some", reported)
	}
}

// The key that signs the requests of the webhook is read again from its file, and must not be short;
// nor may the key that signs sessions. A token in the URL does not travel in plain text.
func TestKeysOfThePlane(t *testing.T) {
	file := t.TempDir() + "/key"
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Default(func(string) (string, bool) { return "hunter2", true })
	c.Plaintext = plaintextRefuse
	c.Ops = &Ops{SessionKeyFile: file, Webhook: &OpsWebhook{URL: "http://h/${A}", SecretFile: file}}
	one, two := strings.Repeat("1", 32), strings.Repeat("2", 16)
	put(one)
	secret, err := c.OpsWebhookSecret()
	if err != nil || secret().Text() != one {
		t.Fatal(err)
	}
	if key, err := c.OpsSessionKey(); err != nil || string(key) != one {
		t.Errorf("the key of sessions is %q, %v", key, err)
	}
	put(two)
	if secret().Text() != two {
		t.Error("the file is not read again")
	}
	put("")
	if secret().Text() != two {
		t.Error("the last key is not used on")
	}
	put(one[1:])
	if _, err := c.OpsSessionKey(); err == nil || !strings.Contains(err.Error(), "ops.session_key_file: names a file with 31 characters, must have 32 or more") {
		t.Error(err)
	}
	put(two[1:])
	if _, err := c.OpsWebhookSecret(); err == nil || !strings.Contains(err.Error(), "ops.webhook.secret_file: names a secret of 15 characters, must have 16 or more") {
		t.Error(err)
	}
	if _, err := c.OpsWebhookURL(); err == nil || !strings.Contains(err.Error(), "ops.webhook.url: is http, so the token is sent") {
		t.Error(err)
	}
	c.Ops.Webhook.URL = "https://${HOST}/a"
	c.env = func(string) (string, bool) { return "127.0.0.1", true }
	if _, err := c.OpsWebhookURL(); err == nil || !strings.Contains(err.Error(), "ops.webhook.url: is one with the address 127.0.0.1, must be one with a public address") {
		t.Errorf("the address in the value of a variable: %v", err)
	}
	c.env = func(string) (string, bool) { return "hunter2", true }
	c.Ops.Webhook.URL = "https://h/${A}"
	if url, err := c.OpsWebhookURL(); err != nil || url != "https://h/hunter2" {
		t.Error(url, err)
	}
}
