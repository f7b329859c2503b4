package opscommands

import (
	"crypto/x509"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	lastDays    = 3 * 24 * time.Hour // how long before its end a certificate is warned of, or the last tenth of a short life
	expiryAgain = 24 * time.Hour
)

// An expiry logs that the certificate of the plane has expired, or soon will, at most once a day.
type expiry struct {
	log    *slog.Logger
	logged atomic.Int64 // in seconds since 1970
}

// check checks the certificate that a connection gets.
func (e *expiry) check(c *x509.Certificate) {
	now := time.Now()
	if c.NotAfter.Sub(now) > min(lastDays, c.NotAfter.Sub(c.NotBefore)/10) {
		return
	}
	before := e.logged.Load()
	if now.Unix()-before >= int64(expiryAgain.Seconds()) && e.logged.CompareAndSwap(before, now.Unix()) {
		e.log.Warn("certificate expires", "at", c.NotAfter.UTC().Format(time.RFC3339))
	}
}
