package zklock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/zklock"
)

// After an ensemble has lost data its servers refuse the session of a process and open new sessions. The process opens a new
// one after three refusals, two of them by a server that has just opened a session for a probe. Without a quorum servers open
// no session, and the process keeps its own, as it does while they do not answer in time. An error in that time names the loss as a
// possible cause.
func TestSessionThatServersRefuse(t *testing.T) {
	always := func(int) bool { return true }
	for name, c := range map[string]struct {
		refuser
		want string // the first connections: for a new or the old session of the client, or for a probe
	}{
		"data lost":             {refuser{opens: always}, "new old probe old probe old new"},
		"connections are reset": {refuser{opens: always, end: syscall.ECONNRESET}, "new old probe old probe old new"},
		"no answer in time":     {refuser{opens: always, end: os.ErrDeadlineExceeded}, "new old old old old"},
		"half an answer":        {refuser{opens: always, half: true}, "new old probe old probe old old probe old"},
		"accepted in between":   {refuser{opens: always, accepts: 5}, "new old probe old probe old old probe old probe old new"},
		"silent probes":         {refuser{opens: always, silent: true}, "new old probe old probe old probe old"},
		"no quorum":             {refuser{opens: func(i int) bool { return i == 0 }}, "new old probe old probe old probe old probe old probe old"},
		"no quorum for a while": {refuser{opens: func(i int) bool { return i == 0 || i > 5 }}, "new old probe old probe old probe old probe old new"},
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
						*purpose = c.serve(theirs, i)
						_ = theirs.Close()
						if i == len(want)-1 {
							close(all)
						}
					}()
					return refused{ours, c.end}, nil
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
				if refused := want[len(want)-1] == "old" && c.end == nil; strings.Contains(d.Explain(err), "has lost data") != refused {
					t.Errorf("the last connection was refused: %t; the explanation is %q of %v", refused, d.Explain(err), err)
				}
			})
		})
	}
}

// A refuser is a server that opens only new sessions.
type refuser struct {
	opens   func(connection int) bool // whether it opens a new session on that connection
	accepts int                       // the connection on which it accepts the old session; 0: none
	half    bool                      // it begins to answer the old session
	silent  bool                      // it does not answer a probe, and keeps the connection
	end     error                     // the client's error at the end of a connection; nil: io.EOF
}

// A refused is a connection whose end is another error.
type refused struct {
	net.Conn
	end error
}

func (c refused) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) && c.end != nil {
		err = c.end
	}
	return n, err
}

// serve returns the purpose of a connection.
func (r *refuser) serve(c net.Conn, connection int) string {
	request := make([]byte, 48)
	if _, err := io.ReadFull(c, request); err != nil {
		return err.Error()
	}
	id, seen := binary.BigEndian.Uint64(request[20:]), binary.BigEndian.Uint64(request[8:])
	probe := binary.BigEndian.Uint32(request[16:]) == 1000
	reply := make([]byte, 40)
	reply[3], reply[19], reply[23] = 36, 7, 16
	binary.BigEndian.PutUint32(reply[8:], 40_000)
	switch {
	case probe && r.silent:
		_, _ = io.Copy(io.Discard, c)
	case id != 0 && r.half:
		_, _ = c.Write(reply[:5])
	case id == 0 && r.opens(connection), connection == r.accepts:
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
