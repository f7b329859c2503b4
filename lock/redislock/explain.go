package redislock

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// explanations are the meanings of server errors, by their beginning.
var explanations = []struct{ prefix, text string }{
	{"WRONGPASS", "the user or the password is wrong"},
	{"NOAUTH", "the server asks for a password, and none is configured"},
	{"ERR Protocol error: unauthenticated", "the server asks for a password, and none is configured"},
	{"ERR AUTH", "the server has no password, and one is configured"},
	{"OOM", "the server is at maxmemory and takes no writes"},
	{"MISCONF", "the server cannot write to its disk and takes no writes"},
	{"READONLY", "the server is a replica"},
	{"MASTERDOWN", "the server is a replica whose master is down"},
	{"NOREPLICAS", "the server has too few replicas and takes no writes"},
	{"CLUSTERDOWN", "the Cluster is down: a part of its slots has no master"},
	{"LOADING", "the server is loading its data"},
	{"BUSY", "the server is busy with a script"},
	{"WRONGTYPE", "a key is of another type than cronce keeps there"},
	{"ERR max number of clients", "the server has no connection left"},
}

// denials are the beginnings of errors that mean that the user has no permission. The last two come
// from inside a script, of servers from 7.2 on and of older ones.
var denials = []string{"NOPERM", "ERR ACL failure in script", "ERR The user executing the script can't"}

// Refuses implements [driver.Refuser]: it reports whether err is [Denied] or [Unfit].
func (d *Driver) Refuses(err error) bool { return Denied(err) || Unfit(err) }

// Denied reports whether a server answered that the user has no permission, outside of a script or
// inside of one. It returns false if the server does not accept the user.
func Denied(err error) bool {
	return slices.ContainsFunc(denials, func(d string) bool { return begins(err, d) })
}

// begins reports whether a server's error begins with prefix.
func begins(err error, prefix string) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return redis.HasErrorPrefix(err, prefix) || strings.HasPrefix(text, prefix+" ") || strings.HasPrefix(text, prefix+":") ||
		strings.Contains(text, ": "+prefix+" ") || strings.Contains(text, ": "+prefix+":")
}

// Explain implements [driver.Explainer], also for the errors of [Driver.CheckStore].
func (d *Driver) Explain(err error) string { return explain(d.client, err) }

// explain returns in plain words why a request of a client failed, or "" if that is not known.
func explain(client redis.UniversalClient, err error) string {
	if err == nil {
		return ""
	}
	if Denied(err) {
		return "the user has no permission for the request (docs/redis.md has the rules that it needs, and AccessRules returns them)"
	}
	if u, is := unfitnessOf(err); is {
		return u.text
	}
	for _, e := range explanations {
		if begins(err, e.prefix) {
			return e.text
		}
	}
	why := driver.Unreached(err)
	if why == "" && errors.Is(err, redis.ErrPoolTimeout) {
		why = late
	}
	switch {
	case speaks(client, false) && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return "the server closed the connection: it has ended, or it expects TLS, which this client does not speak"
	case why == late && speaks(client, true):
		return late + ", as one does that does not speak TLS with a client that does"
	case speaks(client, true) && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)): // the reset can overtake the alert
		return "the server reset the connection: it has ended, or it requires a client certificate"
	case why == "" && handshake(err) != "":
		return "the server refuses the TLS connection, " + handshake(err)
	case why == "" && errors.Is(err, errUnreadable):
		return "the data under a key of the job cannot be read"
	}
	return why
}

// handshake returns the alert of crypto/tls with which a server ended a handshake, or "".
func handshake(err error) string {
	if op, is := errors.AsType[*net.OpError](err); is && op.Op == "remote error" {
		return strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	return ""
}

// late is the explanation of a missing answer.
const late = "the server does not answer in time"

// speaks reports whether a client is known to use TLS, or not to use it.
func speaks(client redis.UniversalClient, encrypted bool) bool {
	switch c := client.(type) {
	case *redis.Client:
		return (c.Options().TLSConfig != nil) == encrypted
	case *redis.ClusterClient:
		return (c.Options().TLSConfig != nil) == encrypted
	}
	return false
}

// AccessRules returns the rights that a user of a [Driver] needs, as the arguments of ACL SETUSER
// after its name and password: the keys and the channels of the namespace, and the commands of the
// scripts and of the one subscription. They are enough for everything but [Check] and [Namespaces],
// which also use CONFIG|GET and SCAN. A Cluster needs [ClusterAccessRules] too. Without +info
// everything else works, but no process notices that the server was restarted or replaced.
func AccessRules(namespace string) []string {
	return []string{
		"resetkeys", "~" + namespace + ":v1:*", "resetchannels", "&" + namespace + ":v1:i:*", "nocommands",
		"+ping", "+hello", "+auth", "+select", "+client|setname",
		"+eval", "+evalsha", "+time", "+info",
		"+get", "+mget", "+set", "+del", "+incrby", "+exists", "+pexpire", "+pttl",
		"+hmget", "+hset", "+hdel", "+hgetall", "+hscan",
		"+rpush", "+lpush", "+lpop", "+lindex", "+llen", "+lrange", "+lset", "+lpos", "+lrem",
		"+sadd", "+smembers", "+srem",
		"+zadd", "+zcard", "+zcount", "+zscore", "+zrange", "+zrem", "+zremrangebyscore",
		"+publish", "+subscribe", "+wait",
	}
}

// ClusterAccessRules returns the rights that a client for a Cluster needs beside AccessRules.
func ClusterAccessRules() []string {
	return []string{"+cluster|slots", "+cluster|shards", "+readonly", "+asking", "+command"}
}

// ReadRules returns the rights of a user that only reads, as the arguments of ACL SETUSER: the
// states, journals, outputs, nodes and audit of series, and the holders of locks. The last argument is a selector, which needs
// Redis 7.0: it permits the write that proves a master, to keys that never exist. The user can
// change nothing else.
func ReadRules(namespace string) []string {
	return []string{
		"resetkeys", "~" + namespace + ":v1:*", "resetchannels", "nocommands",
		"+ping", "+hello", "+auth", "+select", "+client|setname",
		"+eval", "+evalsha", "+time", "+info",
		"+get", "+exists", "+pttl", "+hmget", "+hgetall", "+hscan", "+llen", "+lrange", "+smembers", "+zrange",
		"(~" + namespace + ":v1:{" + namespace + ".*}:none ~" + namespace + ":v1:none:* +pexpire)", // a brace in the name of a job is escaped
	}
}
