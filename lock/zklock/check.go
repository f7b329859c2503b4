package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

var _ driver.StoreChecker = (*Driver)(nil)

// An UnfitError reports why the ensemble, or its namespace, cannot be used. For errors.Is it is
// lock.ErrUnfit.
type UnfitError struct {
	Topic string // "version" or "acl"
	Text  string // the problem
	Fix   string // how to solve it
	err   error
}

func (e *UnfitError) Error() string { return fmt.Sprintf("zklock: %s: %s: %s", e.Topic, e.Text, e.Fix) }

// Is reports whether target is lock.ErrUnfit.
func (e *UnfitError) Is(target error) bool { return target == driver.ErrUnfit }

// Unwrap returns the error of the server.
func (e *UnfitError) Unwrap() error { return e.err }

// CheckStore reports whether the ensemble is fit for the Driver: it has containers (ZooKeeper 3.5),
// and the session may create, write and delete nodes below each part of the namespace. It creates
// the missing parts, and leaves nothing else behind. An error that is not an *UnfitError is doubt.
// The risks are a session timeout other than Options.Session, and nodes that every client may write
// although Options.Scheme is set.
func (d *Driver) CheckStore(ctx context.Context) ([]driver.Risk, error) {
	return bounded(ctx, d, "check", d.fit, nil)
}

func (d *Driver) fit(c *zk.Conn) ([]driver.Risk, error) {
	if err := d.probeContainer(c); err != nil {
		return nil, err
	}
	risks := d.sessionRisk()
	for _, parent := range []string{d.paths.locks, d.paths.series, d.paths.nodes} {
		if err := d.probe(c, parent); err != nil {
			return nil, err
		}
		open, err := d.openToAll(c, parent)
		if err != nil {
			return nil, err
		}
		risks = append(risks, open...)
	}
	_, err := d.tick(c)
	return risks, forbidden(d.paths.clock, err)
}

// probeContainer creates a container and removes it.
func (d *Driver) probeContainer(c *zk.Conn) error {
	if err := forbidden(d.paths.root, d.ensure(c, d.paths.root)); err != nil {
		return err
	}
	path := fmt.Sprintf("%s/fit%x", d.paths.root, c.SessionID())
	_, err := c.CreateContainer(path, nil, zk.FlagContainer, d.options.ACL)
	switch {
	case errors.Is(err, zk.ErrNodeExists): // left behind by a check that was cut off
	case unimplemented(err):
		return &UnfitError{Topic: "version", Text: "the server does not support containers", Fix: "use ZooKeeper 3.5 or newer", err: err}
	case err != nil:
		return forbidden(d.paths.root, err)
	}
	_, err = gone(c.Delete(path, -1))
	return forbidden(path, err)
}

// unimplemented reports whether the server does not support a kind of request. The client has no
// name for that error.
func unimplemented(err error) bool {
	const code = -6
	return err != nil && strings.HasSuffix(err.Error(), fmt.Sprint(": ", code))
}

// probe creates, writes and removes a node below parent in one step, so that no other client ever
// sees it.
func (d *Driver) probe(c *zk.Conn, parent string) error {
	if err := d.ensure(c, parent); err != nil {
		return forbidden(parent, err)
	}
	path := parent + "/#fit" // no key has this name
	_, err := c.Multi(&zk.CreateRequest{Path: path, Acl: d.options.ACL},
		&zk.SetDataRequest{Path: path, Version: -1}, &zk.DeleteRequest{Path: path, Version: -1})
	return forbidden(parent, err)
}

// forbidden returns an *UnfitError if err reports that rights are missing, and otherwise err.
func forbidden(path string, err error) error {
	if !errors.Is(err, zk.ErrNoAuth) && !errors.Is(err, zk.ErrAuthFailed) && !errors.Is(err, zk.ErrInvalidACL) {
		return err
	}
	return &UnfitError{Topic: "acl", Text: fmt.Sprintf("the session may not create, write and delete below %s", path),
		Fix: "authenticate as the other processes of the namespace do (Options.Scheme, Auth and ACL, or the user of the store's URL and its password), or give the rights", err: err}
}

// sessionRisk compares the timeout that the server gave with the requested one.
func (d *Driver) sessionRisk() []driver.Risk {
	asked, got := d.options.Session, time.Duration(d.session.timeout.Load())
	risk := driver.Risk{Topic: "session"}
	switch {
	case got == 0 || got == asked:
		return nil
	case got < asked:
		risk.Text = fmt.Sprintf("the server gives sessions %v instead of %v: a lease that is not renewed ends after %v", got, asked, got/2)
		risk.Fix = fmt.Sprintf("raise maxSessionTimeout of the ensemble, or set Options.Session to %v", got)
	default:
		risk.Text = fmt.Sprintf("the server gives sessions %v instead of %v: the keys of a process that died stay held for that long", got, asked)
		risk.Fix = fmt.Sprintf("lower minSessionTimeout of the ensemble, or set Options.Session to %v", got)
	}
	return []driver.Risk{risk}
}

// openToAll reports a parent that every client may write although the session authenticates: it was
// created by a session that did not.
func (d *Driver) openToAll(c *zk.Conn, parent string) ([]driver.Risk, error) {
	if d.options.Scheme == "" {
		return nil, nil
	}
	acl, _, err := c.GetACL(parent)
	if err != nil {
		return nil, forbidden(parent, err)
	}
	if !slices.ContainsFunc(acl, func(a zk.ACL) bool {
		return a.Scheme == "world" && a.Perms&(zk.PermWrite|zk.PermCreate|zk.PermDelete|zk.PermAdmin) != 0
	}) {
		return nil, nil
	}
	return []driver.Risk{{Topic: "acl", Text: "every client that reaches the servers may change the nodes below " + parent,
		Fix: "let only your user change them (setAcl -R in zkCli.sh): they were created by a session that did not authenticate"}}, nil
}
