package driver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// A ClockReading is one reading of a server's clock.
type ClockReading struct {
	Server   string    // the server that answered
	Process  string    // its process: another after a restart or a failover; empty: the store does not report it
	Time     time.Time // its clock
	Sent     time.Time // our clock before the request, with its monotonic part
	Received time.Time // our clock after the answer
}

// Clocked is a Driver whose clock can be read.
type Clocked interface {
	// Now reads the clock of each server that judges leases: one, or in a
	// cluster one per master.
	Now(ctx context.Context) ([]ClockReading, error)
}

// A StoreChecker is a Driver that can check whether its store, and the client, can keep the
// promises of package lock: a server that forgets keys cannot, nor can a client that repeats
// requests on its own. lock.Open and a scheduler call it before they use the store.
type StoreChecker interface {
	// CheckStore checks the store. An error that is [ErrUnfit] refuses the store, and a repeated
	// check is of no use before an operator has changed something; any other error is doubt.
	// Without an error the store can be used, at the returned risks.
	CheckStore(ctx context.Context) ([]Risk, error)
}

// A Risk is a fact that may break a promise one day, and does not keep a store from use.
type Risk struct {
	Topic  string // one word
	Server string // the server; "" if it is about no server
	Text   string // the fact
	Fix    string // how to mend it
}

func (r Risk) String() string {
	text := r.Topic + ": " + r.Text
	if r.Server != "" {
		text = r.Server + ": " + text
	}
	if r.Fix != "" {
		text += ": " + r.Fix
	}
	return text
}

// Namespaced is a Driver that several applications can use, each under a name of its own.
type Namespaced interface {
	// Namespace returns that name. It never changes, and is not empty.
	Namespace() string
}

// MaxReplicas bounds the replicas of a request.
const MaxReplicas = 100

// Replicated is a Driver that waits for replicas if an [Acquisition], a [LeaseRef], or a request of
// package lock/series needs them: its grants and renewals count once so many replicas have the
// write. Other drivers refuse such requests with ErrUnsupported.
//
// Replicas make the loss of a grant by failover less likely. They are no
// guarantee: a replica that did not acknowledge, or one whose clock is ahead, may
// be promoted all the same.
type Replicated interface {
	// Replicas returns how many replicas of the server that judges key answer at the moment.
	Replicas(ctx context.Context, key string) (int, error)
}

// A ReplicasError is doubt: the store carried out the request, but too few replicas acknowledged it
// in time. A grant was undone, if the store could be reached; a renewal moved the deadline in the
// store, but not the trust in this process. Match it with errors.AsType[*ReplicasError].
type ReplicasError struct {
	Key   string
	Want  int // replicas that the request needed
	Acked int // replicas that acknowledged
}

func (e *ReplicasError) Error() string {
	return fmt.Sprintf("lock: %q: %d of %d replicas acknowledged in time", e.Key, e.Acked, e.Want)
}

// Prompt is a Driver whose requests may return at the deadline of their context, or a few
// milliseconds later, however long the store takes. A Locker sends a request to such a store on the
// goroutine of its caller.
type Prompt interface {
	// Prompt reports whether requests return so.
	Prompt() bool
}

// Explainer is a Driver that explains in plain words why a request failed, for readers that may not
// see the addresses, users and keys in a driver's errors.
type Explainer interface {
	// Explain returns the reason, such as "the password is wrong"; empty if it is not known. It may
	// be called concurrently.
	Explain(err error) string
}

// Refuser is a Driver that distinguishes a refusal from a store that is not reached: the store answered
// that the user has no permission for the request. It answers so again until an operator gives
// permission.
type Refuser interface {
	// Refuses reports whether err is a refusal. It may be called concurrently.
	Refuses(err error) bool
}

// Unreached returns why a server was not reached, if the errors of the standard library show it, in
// words that name no address; empty if they do not. Stores use it in [Explainer].
func Unreached(err error) string {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	certificate, unfit := errors.AsType[x509.CertificateInvalidError](err)
	_, name := errors.AsType[*net.DNSError](err)
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case header:
		return "the client speaks TLS, and the server does not"
	case unfit && certificate.Reason == x509.Expired:
		return "the server's certificate has expired or is not yet valid"
	case unknown || host || unfit:
		return "the server's certificate is not trusted"
	case name:
		return "the server's name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server refuses connections"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timed && timeout.Timeout():
		return "the server does not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection to the server broke"
	}
	return ""
}
