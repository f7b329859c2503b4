package shown

import (
	"strings"
	"testing"
)

func TestShellWords(t *testing.T) {
	t.Parallel()
	got := strings.Join(shellWords(`cronce next "0/5 * * * * ?" -n 5 --who '' a#b # five | six`), "/")
	if want := "cronce/next/0/5 * * * * ?/-n/5/--who//a#b"; got != want {
		t.Errorf("words %s, want %s", got, want)
	}
}
