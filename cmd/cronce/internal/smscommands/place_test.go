package smscommands

import (
	"io"
	"strings"
	"testing"
	"time"
)

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
