package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"sync"
	"syscall"
	"time"
)

// wardenEnv is a variable of the warden alone. A program whose arguments do not lead to Warden would
// otherwise be another node there, which starts the next one, without end.
const wardenEnv = "CRONCE_WARDEN"

// newBackend returns a backend that starts commands through a warden.
func newBackend(cfg Config) (backend, error) {
	if len(cfg.Warden) == 0 {
		return nil, errors.New("exec: Config.Warden is empty, must be the arguments with which this program calls Warden")
	}
	if os.Getenv(wardenEnv) != "" {
		return nil, fmt.Errorf("exec: this process was started as a warden with the arguments %q, which must lead to Warden: see Config.Warden", os.Args[1:])
	}
	return &client{arguments: cfg.Warden, log: cfg.Logger, changed: make(chan struct{}), left: map[uint64]*remote{}}, nil
}

// A client is the node's side of the connection to the warden.
type client struct {
	arguments []string
	log       *slog.Logger

	mu      sync.Mutex
	conn    *net.UnixConn // nil: there is no warden
	changed chan struct{} // closed when conn changes
	ended   bool
	last    uint64
	left    map[uint64]*remote // the children that are not over
}

const (
	restartAfter = time.Second     // the least time between the starts of two wardens
	sendWithin   = 5 * time.Second // for a request to the warden
	exitWithin   = 5 * time.Second // for the end of the warden
)

// run keeps a warden running until ctx ends.
func (c *client) run(ctx context.Context) error {
	defer c.close()
	for {
		began := time.Now()
		err := c.serve(ctx)
		if ctx.Err() != nil {
			return nil
		}
		c.log.Error("warden died", slog.String("err", err.Error()))
		select {
		case <-time.After(restartAfter - time.Since(began)):
		case <-ctx.Done():
			return nil
		}
	}
}

// close refuses all further starts.
func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	close(c.changed)
}

// serve starts a warden, and works with it until it dies or ctx ends. Then no command is left.
func (c *client) serve(ctx context.Context) error {
	conn, process, err := startWarden(c.arguments)
	if err != nil {
		return err
	}
	kill := func() { time.AfterFunc(exitWithin, func() { _ = process.Process.Kill() }) } // harmless if the process has ended
	stop := context.AfterFunc(ctx, func() {
		_ = conn.CloseWrite() // the warden then kills all commands, replies and exits
		kill()
	})
	defer stop()
	c.connect(conn)
	readErr := c.read(conn)
	c.disconnect()
	_ = conn.Close()
	kill()
	err = process.Wait()
	c.endAll()
	return errors.Join(err, readErr)
}

// startWarden starts this program as a warden, in a session of its own, because a signal of the
// terminal is meant for the node. The warden gets no variables of the node, because it needs none.
func startWarden(arguments []string) (*net.UnixConn, *osexec.Cmd, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("exec: making a socket for the warden: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "warden"), os.NewFile(uintptr(fds[1]), "node")
	defer theirs.Close()
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, fmt.Errorf("exec: making a socket for the warden: %w", err)
	}
	conn := c.(*net.UnixConn) // always, for a socket pair
	cmd := &osexec.Cmd{Path: "/proc/self/exe", Args: append([]string{os.Args[0]}, arguments...), Env: []string{"PATH=" + defaultPath, wardenEnv + "=1"}, Stderr: os.Stderr,
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("exec: starting the warden: %w", err)
	}
	return conn, cmd, nil
}

func (c *client) connect(conn *net.UnixConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *client) disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = nil
}

// read passes replies on until the warden is gone.
func (c *client) read(conn *net.UnixConn) error {
	packet := make([]byte, maxPacket)
	for {
		n, err := conn.Read(packet)
		if err != nil || n == 0 {
			return err
		}
		var r reply
		if err := json.Unmarshal(packet[:n], &r); err != nil {
			return fmt.Errorf("exec: reading a reply of the warden: %w", err)
		}
		c.end(r)
	}
}

func (c *client) end(r reply) {
	c.mu.Lock()
	child := c.left[r.ID]
	delete(c.left, r.ID)
	c.mu.Unlock()
	if child != nil {
		child.done <- r
	}
}

// endAll ends the children of a warden that is gone. Their main processes died with it. Processes
// that these had started are found by the run id.
func (c *client) endAll() {
	c.mu.Lock()
	left := c.left
	c.left = map[uint64]*remote{}
	c.mu.Unlock()
	for id, child := range left {
		killByRunID(child.runID)
		child.done <- reply{ID: id, Died: true}
	}
}

// killByRunID kills the processes with a run id in their environment, until none is left.
func killByRunID(runID string) {
	untilNoneIsFound(func() (found bool) {
		for _, pid := range allProcesses() {
			if p, ok := readProcess(pid); ok && p.carries(runID) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				found = true
			}
		}
		return found
	})
}

// untilNoneIsFound kills processes until two searches in a row find none or lastKills has passed: a process may be in
// a system call that cannot be interrupted.
func untilNoneIsFound(kill func() (found bool)) {
	for clean, end := 0, time.Now().Add(lastKills); clean < 2 && time.Now().Before(end); {
		if clean++; kill() {
			clean = 0
		}
		time.Sleep(sweepEvery)
	}
}

// start sends a command to the warden. The wait for a warden may be longer than a lease, which is renewed meanwhile.
func (c *client) start(ctx context.Context, q *request, files []*os.File, times func() (term, kill time.Time)) (child, error) {
	r, err := c.expect(ctx, q.RunID)
	if err != nil {
		return nil, err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	term, kill := times()
	q.ID, q.Term, q.Kill = r.id, boot(term), boot(kill)
	if err := send(r.conn, q, syscall.UnixRights(fds...)); err != nil {
		c.end(reply{ID: r.id})
		return nil, err
	}
	return r, nil
}

// expect waits for a warden, and returns a child for its reply.
func (c *client) expect(ctx context.Context, runID string) (*remote, error) {
	for {
		c.mu.Lock()
		if c.conn != nil {
			break
		}
		ended, changed := c.ended, c.changed
		c.mu.Unlock()
		if ended {
			return nil, errors.New("the runner has ended")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer c.mu.Unlock()
	c.last++
	r := &remote{conn: c.conn, id: c.last, runID: runID, done: make(chan reply, 1)}
	c.left[r.id] = r
	return r, nil
}

func send(conn *net.UnixConn, q *request, rights []byte) error {
	packet, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if len(packet) > maxPacket {
		return fmt.Errorf("the request has %d bytes, must have up to %d", len(packet), maxPacket)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(sendWithin))
	_, _, err = conn.WriteMsgUnix(packet, rights, nil)
	return err
}

// boot converts a time to CLOCK_BOOTTIME; the zero time becomes 0.
func boot(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return bootTimeAt(t)
}

// A remote is a child of the warden. If a request cannot be sent, the remote closes the connection
// and the warden kills all commands: a command that could not be ended later must not go on.
type remote struct {
	conn  *net.UnixConn
	id    uint64
	runID string
	done  chan reply
}

func (r *remote) over() <-chan reply { return r.done }

func (r *remote) extend(term, kill time.Time) {
	r.send(&request{Op: opExtend, ID: r.id, Term: boot(term), Kill: boot(kill)})
}

func (r *remote) stop(kill time.Time) {
	r.send(&request{Op: opStop, ID: r.id, Kill: boot(kill)})
}

func (r *remote) kill() { r.send(&request{Op: opKill, ID: r.id}) }

func (r *remote) send(q *request) {
	if err := send(r.conn, q, nil); err != nil {
		_ = r.conn.Close()
	}
}
