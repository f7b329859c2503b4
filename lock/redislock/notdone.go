package redislock

import (
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// unwritten are the beginnings of server errors that mean that the server wrote nothing. Errors
// about writes (OOM, MISCONF, READONLY, NOREPLICAS) come from a script that has not written yet,
// and so do denials: see the scripts that write verdicts.
var unwritten = append([]string{
	"NOAUTH", "WRONGPASS", "ERR AUTH", "ERR Protocol error: unauthenticated", "ERR max number of clients",
	"OOM", "MISCONF", "READONLY", "NOREPLICAS", "MASTERDOWN", "LOADING", "BUSY", "NOSCRIPT",
	"CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN", "CROSSSLOT", "ERR unknown command",
}, denials...)

// notDone reports whether an error shows that the server did nothing: it was not reached, or it
// refused the request as a whole. A client that repeats requests by itself, as one for a Cluster
// does, returns only the error of the last of them: the first may have been carried out.
func (d *Driver) notDone(err error) bool {
	if err == nil {
		return false
	}
	if _, one := d.client.(*redis.Client); !one {
		return false
	}
	if retries, _, known := limits(d.client); !known || retries > 0 {
		return false
	}
	if dial, is := errors.AsType[*net.OpError](err); is && dial.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout) {
		return true
	}
	for _, prefix := range unwritten {
		if begins(err, prefix) {
			return true
		}
	}
	return false
}
