package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// Each command exits with the code of the table.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	m, url := newRedis(t)
	good, broken := newCluster(t, 3, 0), newCluster(t, 3, 0)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key := broken.journalKey(t)
	must(broken.Client.LRem(t.Context(), key, 1, broken.Client.LIndex(t.Context(), key, 2).Val()).Err())
	unreadable := newCluster(t, 3, 0)
	must(unreadable.Client.LSet(t.Context(), unreadable.journalKey(t), 1, "\x1b[31mx").Err())
	m.RequireAuth("right")
	held := newCluster(t, 1, 0)
	_, err := lock.New(held.Driver, "holder").Acquire(t.Context(), "key", lock.Options{TTL: time.Hour})
	must(err)
	script := filepath.Join(t.TempDir(), "script")
	must(os.WriteFile(script, []byte("true"), 0o600))
	const dead = "redis://127.0.0.1:1"
	for _, c := range []struct {
		code int
		args []string
	}{
		{exit.Fine, []string{"--version"}},
		{exit.Fine, []string{"verify", "--redis", good.url}},
		{exit.Fine, []string{"runs", "job", "--redis", good.url}},
		{exit.Fine, []string{"doctor", "--redis", good.url}},
		{exit.Failed, []string{"verify", "--redis", broken.url}},
		{exit.Failed, []string{"node", "health", "--http", "127.0.0.1:1"}},
		{exit.Failed, []string{"lock", "key", "--redis", good.url, "--", "false"}},
		{exit.WrongUsage, []string{"nosuch"}},
		{exit.WrongUsage, []string{"verify", "--nosuch"}},
		{exit.WrongUsage, []string{"verify", "--fail-on", "rain"}},
		{exit.WrongUsage, []string{"verify", "--redis", "not a url"}},
		{exit.WrongUsage, []string{"node", "--config", filepath.Join(t.TempDir(), "nosuch.yaml")}},
		{exit.WrongUsage, []string{"runs", "nosuch", "--redis", good.url}},
		{exit.WrongUsage, []string{"runs", "job", "--verdict", "rain", "--redis", dead}},
		{exit.WrongUsage, []string{"verify", "--since", "rain", "--redis", dead}},
		{exit.Refused, []string{"verify", "--redis", url}},
		{exit.Refused, []string{"doctor", "--redis", url}},
		{exit.Refused, []string{"lock", "key", "--redis", url, "--try", "--", "true"}},
		{exit.Refused, []string{"lock", "key", "--redis", held.url, "--try", "--", "true"}},
		{exit.Refused, []string{"lock", "key", "--redis", held.url, "--wait", "1s", "--", "true"}},
		{42, []string{"lock", "key", "--redis", held.url, "--try", "-E", "42", "--", "true"}},
		{exit.NotKnown, []string{"verify", "--redis", dead}},
		{exit.NotKnown, []string{"verify", "--redis", good.url, "--namespace", "empty"}},
		{exit.NotKnown, []string{"verify", "--redis", good.url, "--namespace", "empty", "--job", "job"}},
		{exit.NotKnown, []string{"runs", "job", "--redis", good.url, "--namespace", "empty"}},
		{exit.NotKnown, []string{"pause", "--all", "--reason", "for the night", "--redis", good.url, "--namespace", "empty"}},
		{exit.NotKnown, []string{"resume", "--all", "--redis", good.url, "--namespace", "empty"}},
		{exit.Fine, []string{"doctor", "--redis", good.url, "--namespace", "empty"}},
		{exit.NotKnown, []string{"verify", "--redis", unreadable.url}},
		{exit.NotKnown, []string{"runs", "job", "--redis", unreadable.url}},
		{exit.NotKnown, []string{"runs", "--redis", unreadable.url}},
		{exit.NotKnown, []string{"runs", "job", "--redis", dead}},
		{exit.NotKnown, []string{"doctor", "--redis", dead}},
		{exit.NotKnown, []string{"lock", "key", "--redis", dead, "--try", "--ttl", "500ms", "--", "true"}},
		{exit.NotKnown, []string{"lock", "key", "--redis", dead, "--show"}},
		{7, []string{"lock", "key", "--redis", good.url, "--", "sh", "-c", "exit 7"}},
		{143, []string{"lock", "key", "--redis", good.url, "--", "sh", "-c", "kill -TERM $$"}},
		{exit.NotFound, []string{"lock", "key", "--redis", good.url, "--", "nosuch-command"}},
		{exit.NotFound, []string{"lock", "key", "--redis", good.url, "--", "./nosuch-command"}},
		{exit.NotExecutable, []string{"lock", "key", "--redis", good.url, "--", script}},
	} {
		t.Run(fmt.Sprint(c.code, c.args[0]), func(t *testing.T) {
			t.Parallel()
			if code := cronce(t, c.args...).code; code != c.code {
				t.Errorf("%q ends with %d, want %d", c.args, code, c.code)
			}
		})
	}
}

// A storeError is an error reply of a Redis.
type storeError string

func (e storeError) Error() string { return string(e) }
func (storeError) RedisError()     {}

// A refusal of the store is a refusal; any other error reply leaves the result unknown.
func TestCodesOfTheStore(t *testing.T) {
	for text, want := range map[string]int{
		"NOPERM this user has no permissions to run the 'evalsha' command": exit.Refused, "WRONGPASS invalid username-password pair": exit.Refused,
		"NOAUTH Authentication required.": exit.Refused, "ERR ACL failure in script: User worker has no permissions to run the 'hset' command": exit.Refused,
		"ERR The user executing the script can't run this command or subcommand": exit.Refused, "ERR unknown command": exit.NotKnown, "LOADING Redis is loading the dataset in memory": exit.NotKnown,
		"MASTERDOWN Link with MASTER is down": exit.NotKnown, "OOM command not allowed when used memory > 'maxmemory'.": exit.NotKnown,
	} {
		if got := exit.Code(fmt.Errorf("verify: %w", storeError(text)), true); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if got := exit.Code(storeError(text), false); got != exit.WrongUsage {
			t.Errorf("%s, before the command has started: %d", text, got)
		}
	}
}

// A login that a database refuses is a refusal, as one that a Redis refuses. A database without the
// tables is not fit.
func TestCodesOfDatabases(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{&pgconn.PgError{Code: "28P01"}, exit.Refused},
		{&pgconn.PgError{Code: "28000"}, exit.Refused},
		{&pgconn.PgError{Code: "3D000"}, exit.Refused},
		{&pgconn.PgError{Code: "42P01"}, exit.Refused},
		{&pgconn.PgError{Code: "57P03"}, exit.NotKnown},
		{&mysql.MySQLError{Number: 1045}, exit.Refused},
		{&mysql.MySQLError{Number: 1698}, exit.Refused},
		{&mysql.MySQLError{Number: 1049}, exit.Refused},
		{&mysql.MySQLError{Number: 1146}, exit.Refused},
		{&mysql.MySQLError{Number: 1040}, exit.NotKnown},
	} {
		if got := exit.Code(exit.Doubt(fmt.Errorf("status: %w", c.err)), true); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// With all nodes dead verify and doctor report the overdue ticks, with their age and the cause, and
// a pause ends that.
func TestOverdueIsReported(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 20, 0)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cl.server.SetTime(time.Now().Add(time.Minute))
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Failed, "job: OVERDUE ", "has no verdict", "no node lives: n was the last to be seen with this job, at ", "OVERDUE: 1 job")
	cronce(t, "doctor", "--redis", cl.url).want(t, exit.Failed, "refuse  overdue", "nodes", "no node lives")
	ctx := context.Background()
	for _, node := range []string{"drained", "silent"} {
		_, err := cl.Front().Beat(ctx, series.Beat{Node: node, TTL: time.Second})
		must(err)
	}
	must(cl.Front().Leave(ctx, "drained"))
	cl.server.SetTime(time.Now().Add(2 * time.Minute))
	r := cronce(t, "doctor", "--redis", cl.url)
	r.want(t, exit.Failed, "drained left at ", "silent was last seen at ")
	_, err := cl.Front().Beat(ctx, series.Beat{Node: "other", TTL: time.Hour})
	must(err)
	r = cronce(t, "verify", "--redis", cl.url, "-o", "json")
	r.want(t, exit.Failed, `"ok": false`, `"cause": "no node has this job: 1 nodes live, and none was seen with it of late`, `"overdue"`, `"age_ms"`)
	cronce(t, "pause", "job", "--reason", "it was removed", "--redis", cl.url).want(t, exit.Fine)
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine, "paused")
	cronce(t, "doctor", "--redis", cl.url).want(t, exit.Fine, "no tick is overdue", "1 live: other")
}

// Failed ticks are shown, and make verify fail if requested.
func TestFailuresAreShown(t *testing.T) {
	cl := newCluster(t, 2, 0)
	at := time.Now().Truncate(time.Second).Add(time.Second)
	cl.server.SetTime(at)
	c := series.Claim{Key: "job", Owner: "n/9", Number: at.UnixMilli(), After: cl.Front().ReadSeries(t.Context(), []string{"job"})[0].Mark, Between: 1, TTL: time.Second,
		Deadline: time.Second, Attempts: 1, Latest: driver.MaxNumber, Revision: cl.revision}
	a := cl.Front().Claim(t.Context(), []series.Claim{c})[0]
	e := series.EndRequest{RunRef: series.RunRef{Key: "job", Number: c.Number, Owner: c.Owner, Fence: a.Fence}, Outcome: series.OutcomeFailed, Error: "no route to \x1b[31mhost"}
	if ended := cl.Front().ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; !ended.Ended {
		t.Fatalf("%+v, %+v", a, ended)
	}
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine, "FAILED")
	cronce(t, "verify", "--redis", cl.url, "--fail-on", "failed").want(t, exit.Failed, "FAILED")
	cronce(t, "runs", "job", "--redis", cl.url).want(t, exit.Fine, "failed", `no route to \x1b[31mhost`)
}

// A file or a pipe that cannot be written does not count as a store that does not answer.
func TestLocalErrorsAreKnown(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, exit.Failed},
		{&fs.PathError{Op: "read", Path: "messages.csv", Err: syscall.EISDIR}, exit.Failed},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, exit.NotKnown},
		{&net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}, exit.Failed},
	} {
		if code := exit.Code(fmt.Errorf("verify: %w", c.err), true); code != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.want)
		}
	}
}

// The error about an argument of any length has a bounded length.
func TestLongArguments(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	for _, args := range [][]string{{"verify", "-o", long}, {long}, {"verify", "--" + long}, {"verify", "--config", long}} {
		if r := cronce(t, args...); r.code != exit.WrongUsage || len(r.stderr) > 2*1000 {
			t.Errorf("%.20q: exit code %d, %d bytes", args, r.code, len(r.stderr))
		}
	}
}
