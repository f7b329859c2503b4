package sqllock

import (
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

var (
	_ driver.Explainer = (*Driver)(nil)
	_ driver.Refuser   = (*Driver)(nil)
)

// The explanations that several databases share.
const (
	wrongPassword  = "the user or the password is wrong"
	denied         = wrongPassword + ", or the server accepts this user only with TLS or with a client certificate"
	mayNot         = "the user lacks a right that the request needs"
	mayNotUse      = "the process may not use the file of the database"
	mayNotWrite    = "the process may not write to the file of the database"
	noDatabase     = "the server has no such database"
	sharedSession  = "a pooler shares the sessions of the server: add default_query_exec_mode=cache_describe to the address of the database"
	statementMode  = "a pooler allows no transactions: set its pool_mode to transaction or to session"
	poolerAlone    = "a pooler could not reach the server, and refuses requests until it tries again (server_login_retry)"
	noTables       = "the tables are missing: run cronce migrate, or see CreateTables"
	otherTables    = "the tables are of another version: run cronce migrate, or see CreateTables"
	readOnly       = "the server takes no writes: it is a replica, or it is read-only"
	noClock        = readOnly + ", or the session does not commit each statement"
	diskFull       = "the server's disk is full"
	noConnection   = "the server has no connection left"
	broke          = "the connection to the server broke"
	starts         = "the server is starting or stopping"
	needsTLS       = "the server requires TLS, and the client does not use it"
	speaksNoTLS    = "the client requires TLS, and the server does not support it"
	noParameter    = "the server does not know a parameter of the connection: it is misspelt in the address of the database, or of another version"
	badParameter   = "the server does not take the value of a parameter of the connection"
	busyOrDeadlock = "the database is busy with other transactions"
)

// states explain the codes of PostgreSQL, by their beginning.
var states = []struct{ code, text string }{
	{"28P01", wrongPassword},
	{"28000", "the server does not accept this user from the client's address, or only with TLS"},
	{"42501", mayNot},
	{"3D000", noDatabase},
	{"26000", sharedSession}, // the session lacks a prepared statement
	{"42P05", sharedSession},
	{"42P01", noTables},
	{"42703", otherTables},
	{"42704", noParameter},
	{"22023", badParameter},
	{"25006", readOnly},
	{"53100", diskFull},
	{"53300", noConnection},
	{"57P0", starts},
	{"40", busyOrDeadlock},
	{"55P03", busyOrDeadlock},
}

// poolers explain errors of PgBouncer by a part of their text: it has the code 08P01 for all of them.
var poolers = []struct{ part, text string }{
	{"transaction blocks not allowed", statementMode},
	{"no more connections allowed", noConnection},
	{"server login has been failing", poolerAlone},
}

// numbers explain the codes of MySQL, as its errors begin.
var numbers = []struct{ code, text string }{
	{"Error 1045", denied}, // the server does not say which
	{"Error 1698", wrongPassword},
	{"Error 1044", mayNot},
	{"Error 1142", mayNot},
	{"Error 1143", mayNot},
	{"Error 1227", mayNot},
	{"Error 1049", noDatabase},
	{"Error 1146", noTables},
	{"Error 1054", otherTables},
	{"Error 1193", noParameter},
	{"Error 1231", badParameter},
	{"Error 1232", badParameter},
	{"Error 1290", readOnly},
	{"Error 1792", readOnly},
	{"Error 1836", readOnly},
	{"Error 1048", noClock}, // a session that is not usable would write NULL
	{"Error 1021", diskFull},
	{"Error 1114", diskFull},
	{"Error 1040", noConnection},
	{"Error 1047", "the server of the cluster has no majority"},
	{"Error 1203", noConnection},
	{"Error 1053", starts},
	{"Error 3159", needsTLS},
	{"Error 4031", "the server has closed the connection"},
	{"Error 1205", busyOrDeadlock},
	{"Error 1213", busyOrDeadlock},
}

// results explain the primary codes of SQLite.
var results = map[int]string{
	5: busyOrDeadlock, 6: busyOrDeadlock,
	3: mayNotUse, 8: mayNotWrite,
	10: "the file of the database cannot be read or written", 11: "the file of the database is damaged",
	13: "the disk, or the database, is full", 14: "the file of the database cannot be opened", 26: "the file is not a database",
}

// words explain errors that carry no code, by a part of their text.
var words = []struct{ part, text string }{
	{"invalid connection", broke}, // of github.com/go-sql-driver/mysql
	{"no such table", noTables},
	{"no such column", otherTables},
	{"server refused TLS", speaksNoTLS},
	{"SSL is not enabled on the server", speaksNoTLS},
	{"server does not support TLS", speaksNoTLS},
}

// Explain explains in plain words why a request failed.
func (d *Driver) Explain(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, driver.ErrUnreadable):
		return "the data that the database has under the key cannot be read"
	case errors.Is(err, errUnusable):
		return noClock
	case errors.Is(err, sql.ErrConnDone):
		return "the connection to the server is closed"
	case errors.Is(err, sqldriver.ErrBadConn):
		return broke
	}
	if text := explainCode(err); text != "" {
		return text
	}
	_, answered := errors.AsType[stated](err) // also if the error has the attempt with TLS before it
	for _, w := range words {
		if !answered && strings.Contains(err.Error(), w.part) {
			return w.text
		}
	}
	return driver.Unreached(err)
}

// Refuses reports whether the database answered that the user lacks a right, or SQLite that the
// process lacks a right to the file. Two answers do not count as a refusal, although an operator
// may have to act: after them the request is repeated and not given up. First, a server that
// accepts no writes (25006, 1290, 1792, 1836) may be the former primary, to which a connection was
// kept over a failover; the next connection reaches the new primary. Second, a server that rejects
// the login (28P01, 1045) was not reached, as while its password is changed.
func (d *Driver) Refuses(err error) bool {
	if err == nil {
		return false
	}
	text := explainCode(err)
	return text == mayNot || text == mayNotUse || text == mayNotWrite
}

// explainCode explains an error by its code. The caller chooses the driver of the database, so its
// errors are recognised by the codes that drivers have in common.
func explainCode(err error) string {
	if state, ok := errors.AsType[stated](err); ok {
		for _, s := range states {
			if strings.HasPrefix(state.SQLState(), s.code) {
				return s.text
			}
		}
		return explainPooler(state)
	}
	if code, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return results[code.Code()&0xff]
	}
	for _, n := range numbers {
		if strings.Contains(err.Error(), n.code+" ") || strings.Contains(err.Error(), n.code+":") {
			return n.text
		}
	}
	return ""
}

// explainPooler explains an error that a pooler made in place of the server.
func explainPooler(err stated) string {
	for _, p := range poolers {
		if err.SQLState() == "08P01" && strings.Contains(err.Error(), p.part) {
			return p.text
		}
	}
	return ""
}

// A stated error has a code of PostgreSQL.
type stated interface {
	error
	SQLState() string
}
