package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// The exit codes. The command lock ends with that of what it ran; where it could not
// run it, as shells do, with the last two.
const (
	exitFine    = 0
	exitFailed  = 1 // failed, overdue, or an invariant is broken
	exitUsage   = 2 // wrong usage or configuration
	exitRefused = 3 // refused by state or right
	exitUnknown = 4 // not known: no answer, doubt, or the proof does not reach as far

	exitNotExecutable = 126
	exitNotFound      = 127
)

const exitTable = "Exit codes: 0 fine; 1 failed, overdue, or an invariant is broken; 2 wrong usage or configuration;\n" +
	"3 refused by state or right; 4 not known: the store does not answer, or the proof does not reach as\n" +
	"far as was asked."

// exitCode is what an error makes of the program. Before a command has started all
// is wrong usage.
func exitCode(err error, started bool) int {
	if e, ok := errors.AsType[*codedError](err); ok {
		return e.code
	}
	_, usage := errors.AsType[*usageError](err)
	_, argument := errors.AsType[*lock.ArgumentError](err)
	switch {
	case usage || argument || !started:
		return exitUsage
	case refusedByStore(err):
		return exitRefused
	case unanswered(err):
		return exitUnknown
	}
	return exitFailed
}

// refusedByStore reports whether a store refused: the user may not, or the store is not
// fit for what was asked.
func refusedByStore(err error) bool {
	return redislock.Denied(err) || redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "WRONGPASS") || errors.Is(err, lock.ErrUnfit)
}

// unanswered reports whether an error says nothing of what is: a store or a network
// that did not answer, or that answered with an error.
func unanswered(err error) bool {
	if _, doubt := errors.AsType[*doubtError](err); doubt {
		return true
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "listen" {
		return false
	}
	unreached, network := errors.AsType[net.Error](err)
	if _, local := unreached.(syscall.Errno); local {
		network = false // of a file or a pipe: that of a connection is inside a net.OpError, which is found first
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, server := errors.AsType[redis.Error](err)
	return network || server || certificate || errors.Is(err, zk.ErrNoServer) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// A doubtError is that of a store which was asked and has not said what is.
type doubtError struct{ err error }

func (e *doubtError) Error() string { return e.err.Error() }
func (e *doubtError) Unwrap() error { return e.err }

// A codedError has an exit code of its own. A silent one was printed already: all that is
// left is the code.
type codedError struct {
	err    error
	code   int
	silent bool
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// exitWith returns the error of a command that has printed what is not fine: the program prints
// no more, and exits with the code.
func exitWith(code int, what string) error {
	return &codedError{err: errors.New(what), code: code, silent: true}
}
