package zklock_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/zklock"
)

// After an ensemble has lost data its servers refuse the session of a process and open new sessions. The process opens a new
// one after three refusals, two of them by a server that has just opened a session for a probe. Without a quorum servers open
// no session, and the process keeps its own. An error in that time names the loss as a possible cause.
func TestSessionThatServersRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		opens func(connection int) bool // whether the server opens a new session on that connection
		want  string                    // the first connections: for a new or the old session of the client, or for a probe
	}{
		"data lost":             {func(int) bool { return true }, "new old probe old probe old new"},
		"no quorum":             {func(i int) bool { return i == 0 }, "new old probe old probe old probe old probe old probe old"},
		"no quorum for a while": {func(i int) bool { return i == 0 || i > 5 }, "new old probe old probe old probe old probe old new"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := strings.Fields(c.want)
				got, all, over := make([]string, 0, len(want)), make(chan struct{}), make(chan struct{})
				defer close(over)
				dial := func(string, string, time.Duration) (net.Conn, error) { // calls do not overlap
					if len(got) == len(want) {
						<-over
						return nil, net.ErrClosed
					}
					ours, theirs := net.Pipe()
					i := len(got)
					got = append(got, "")
					purpose := &got[i]
					go func() {
						*purpose = serveHandshake(theirs, c.opens(i))
						_ = theirs.Close()
						if i == len(want)-1 {
							close(all)
						}
					}()
					return ours, nil
				}
				d := newDriver(t, "127.0.0.1:1", zklock.Options{Session: 100 * time.Second, Dial: dial})
				_, _ = d.Now(t.Context()) // connects, and fails with the first connection
				<-all
				synctest.Wait() // the client has read the last reply
				ctx, stop := context.WithCancel(t.Context())
				asked := make(chan error)
				go func() {
					_, err := d.Now(ctx)
					asked <- err
				}()
				synctest.Wait()
				stop()
				err := <-asked
				if !slices.Equal(got, want) {
					t.Errorf("the connections were for %v, want %v", got, want)
				}
				if refused := want[len(want)-1] == "old"; strings.Contains(d.Explain(err), "has lost data") != refused {
					t.Errorf("the last connection was refused: %t; the explanation is %q of %v", refused, d.Explain(err), err)
				}
			})
		})
	}
}

// serveHandshake is a server that opens no session, or only new ones. It returns the purpose of the connection.
func serveHandshake(c net.Conn, opens bool) string {
	request := make([]byte, 48)
	if _, err := io.ReadFull(c, request); err != nil {
		return err.Error()
	}
	id, seen := binary.BigEndian.Uint64(request[20:]), binary.BigEndian.Uint64(request[8:])
	probe := binary.BigEndian.Uint32(request[16:]) == 1000
	if id == 0 && opens {
		reply := make([]byte, 40)
		reply[3], reply[19], reply[23] = 36, 7, 16
		binary.BigEndian.PutUint32(reply[8:], 40_000)
		_, _ = c.Write(reply)
		if end := make([]byte, 12); probe {
			if _, err := io.ReadFull(c, end); err != nil || int32(binary.BigEndian.Uint32(end[8:])) != -11 {
				return "probe that does not end its session"
			}
		}
	}
	switch {
	case probe && id == 0 && seen == 0:
		return "probe"
	case id == 0 && seen == 0:
		return "new"
	}
	return "old"
}
