package lock

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"syscall"
)

// Unreached returns why a server was not reached, as far as the errors of the standard
// library say it, in words that name no address; empty: they do not. It is for stores,
// in [Explainer].
func Unreached(err error) string {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, name := errors.AsType[*net.DNSError](err)
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case header:
		return "the client speaks TLS, and the server does not"
	case unknown || host:
		return "the server's certificate is not trusted"
	case name:
		return "the server's name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server refuses connections"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timed && timeout.Timeout():
		return "the server does not answer in time"
	}
	return ""
}
