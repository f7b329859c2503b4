package opscommands

import (
	"crypto/x509"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A certificate is used each hour until ten days after its end. From three days before its end on, or from the last tenth of a shorter
// life, each day has one warning.
func TestExpiry(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		life     time.Duration
		warnings int
	}{{90 * day, 13 + 1}, {10 * day, 11 + 1}, {time.Hour, 10 + 1}} {
		synctest.Test(t, func(t *testing.T) {
			var log lines
			e := expiry{log: slog.New(slog.NewTextHandler(&log, nil))}
			leaf := &x509.Certificate{NotBefore: time.Now(), NotAfter: time.Now().Add(c.life)}
			for end := leaf.NotAfter.Add(10 * day); !time.Now().After(end); time.Sleep(time.Hour) {
				early := time.Until(leaf.NotAfter) > min(3*day, c.life/10)
				if e.check(leaf); early && log.text != nil {
					t.Fatalf("%s early: %s", time.Until(leaf.NotAfter), log.take())
				}
			}
			text := log.take()
			if n := strings.Count(text, `level=WARN msg="certificate expires" at=`+leaf.NotAfter.UTC().Format(time.RFC3339)); n != c.warnings {
				t.Errorf("a life of %s: %d warnings, want %d:\n%s", c.life, n, c.warnings, text)
			}
		})
	}
}
