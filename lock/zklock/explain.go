package zklock

import (
	"errors"
	"io"
	"syscall"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// explanations are what the errors of the client mean.
var explanations = []struct {
	err  error
	text string
}{
	{zk.ErrNoAuth, "the session may not do what is asked for: its user or password is not the one that made the nodes, or their ACL is another"},
	{zk.ErrAuthFailed, "the server knows no such scheme of authentication, or refuses its user or password"},
	{zk.ErrInvalidACL, "the server knows no such ACL, or the session is not authenticated"},
	{zk.ErrSessionExpired, "the session has expired"},
	{zk.ErrSessionMoved, "the session has moved to another server"},
	{zk.ErrConnectionClosed, "the connection to the server broke"},
	{zk.ErrNoServer, "no server takes the session"},
	{errClosed, "the driver is closed"},
	{zk.ErrClosing, "the driver is closed"},
}

var (
	_ driver.Explainer = (*Driver)(nil)
	_ driver.Refuser   = (*Driver)(nil)
)

// Refuses reports whether the session lacks a right to a node. A server that does not let the user in
// (zk.ErrAuthFailed) was not reached.
func (d *Driver) Refuses(err error) bool { return errors.Is(err, zk.ErrNoAuth) }

// Explain says in plain words why a request failed.
func (d *Driver) Explain(err error) string {
	if errors.Is(err, driver.ErrUnreadable) {
		return "what ZooKeeper has under the key cannot be read"
	}
	for _, e := range explanations {
		if errors.Is(err, e.err) {
			return e.text
		}
	}
	if errors.Is(err, errUnconnected) && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return "the server closes connections, as one does that has no quorum, or that speaks TLS with a client that does not, or the other way round"
	}
	return driver.Unreached(err)
}
