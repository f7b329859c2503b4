package zklock

import (
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// explanations explain the errors of the client.
var explanations = []struct {
	err  error
	text string
}{
	{zk.ErrNoAuth, "the session lacks a right to the nodes: another user or password created them, or their ACL is different"},
	{zk.ErrAuthFailed, "the server does not support this scheme of authentication, or refuses the user or password"},
	{zk.ErrInvalidACL, "the server does not support this ACL, or the session is not authenticated"},
	{zk.ErrSessionExpired, "the session has expired"},
	{zk.ErrSessionMoved, "the session has moved to another server"},
	{zk.ErrConnectionClosed, "the connection to the server broke"},
	{zk.ErrNoServer, "no server accepts the session"},
	{errClosed, "the driver is closed"},
	{zk.ErrClosing, "the driver is closed"},
}

var (
	_ driver.Explainer = (*Driver)(nil)
	_ driver.Refuser   = (*Driver)(nil)
)

// Refuses reports whether the session lacks a right to a node. A server that rejects the
// authentication (zk.ErrAuthFailed) does not count: it was not reached.
func (d *Driver) Refuses(err error) bool { return errors.Is(err, zk.ErrNoAuth) }

// Explain explains in plain words why a request failed.
func (d *Driver) Explain(err error) string {
	if errors.Is(err, driver.ErrUnreadable) {
		return "the data that ZooKeeper has under the key cannot be read"
	}
	if errors.Is(err, zk.ErrNoServer) {
		err = d.session.doubt(err)
	}
	if errors.Is(err, errUnconnected) && closes(err) {
		return "the server closes connections: it has no quorum, or has lost data that this process has seen, " +
			"or it uses TLS and the client does not, or the other way round"
	}
	for _, e := range explanations {
		if errors.Is(err, e.err) {
			return e.text
		}
	}
	return driver.Unreached(err)
}
