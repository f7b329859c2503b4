// Package exit has the exit codes of cronce, and the errors that carry them.
//
// The code of an error without a code of its own follows from its kind: wrong usage, a refusal of
// the store, doubt, or a failure. See [Code].
package exit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// Exit codes. The command lock exits with the code of the command that it ran. If it could not run
// the command it exits, like a shell, with one of the last two.
const (
	Fine       = 0
	Failed     = 1 // failed, overdue, or an invariant is broken
	WrongUsage = 2 // wrong usage or configuration
	Refused    = 3 // refused by state or right
	NotKnown   = 4 // no answer, doubt, or the proof does not reach far enough

	NotExecutable = 126
	NotFound      = 127
)

// Table explains the exit codes in the help of cronce.
const Table = "Exit codes: 0 fine; 1 failed, overdue, or an invariant is broken; 2 wrong usage or configuration;\n" +
	"3 refused by state or right; 4 not known: the store does not answer, or the proof does not reach as\n" +
	"far as was asked."

// Code returns the exit code of an error. Started is set if a command has begun; before that every
// error is wrong usage.
func Code(err error, started bool) int {
	if e, ok := errors.AsType[*codedError](err); ok {
		return e.code
	}
	_, usage := errors.AsType[*usageError](err)
	_, argument := errors.AsType[*lock.ArgumentError](err)
	switch {
	case usage || argument || !started:
		return WrongUsage
	case RefusedByStore(err):
		return Refused
	case unanswered(err):
		return NotKnown
	}
	return Failed
}

// RefusedByStore reports whether a store refused a request: it does not let the user in, the user has
// no right, or the store is not fit for it.
func RefusedByStore(err error) bool {
	return redislock.Denied(err) || redislock.Unfit(err) || redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "WRONGPASS") || shutOut(err) || errors.Is(err, lock.ErrUnfit)
}

// shutOut reports whether a database refused the login of a user, has no database of that name, or
// lacks the tables.
func shutOut(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains([]uint16{1045, 1049, 1146, 1698}, e.Number)
	}
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err) // of PostgreSQL
	return ok && (strings.HasPrefix(e.SQLState(), "28") || e.SQLState() == "3D000" || e.SQLState() == "42P01")
}

// unanswered reports whether an error leaves the state unknown: a store or a network did not
// answer, or answered with an error.
func unanswered(err error) bool {
	if _, doubt := errors.AsType[*doubtError](err); doubt {
		return true
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "listen" {
		return false
	}
	unreached, network := errors.AsType[net.Error](err)
	if _, local := unreached.(syscall.Errno); local {
		network = false // an error of a file or a pipe; errors.As finds a net.OpError first if it is an error of a connection
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, server := errors.AsType[redis.Error](err)
	return network || server || certificate || errors.Is(err, zk.ErrNoServer) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// A usageError is a mistake in the command line or in the configuration.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usage marks an error as wrong usage; nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// Usagef makes an error of wrong usage.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// A doubtError is the error of a request whose result is unknown.
type doubtError struct{ err error }

func (e *doubtError) Error() string { return e.err.Error() }
func (e *doubtError) Unwrap() error { return e.err }

// Doubt marks an error as doubt: it is not known whether a change was made or a state holds.
func Doubt(err error) error { return &doubtError{err} }

// A codedError is an error with an exit code. A silent one has been printed already.
type codedError struct {
	err    error
	code   int
	silent bool
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// With adds an exit code to an error.
func With(code int, err error) error { return &codedError{err: err, code: code} }

// Silently adds an exit code to an error that has been printed already.
func Silently(code int, err error) error { return &codedError{err: err, code: code, silent: true} }

// Printed returns an error for a command that has already printed a bad result: the program prints
// no more, and exits with the code.
func Printed(code int, text string) error { return Silently(code, errors.New(text)) }

// HasCode reports whether an error has an exit code already.
func HasCode(err error) bool {
	_, ok := errors.AsType[*codedError](err)
	return ok
}

// IsPrinted reports whether the command has printed the error already.
func IsPrinted(err error) bool {
	e, ok := errors.AsType[*codedError](err)
	return ok && e.silent
}
