package serverprocess

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childEnv makes this test binary run as a server. It holds the server's behaviour and its port.
const childEnv = "CRONCE_SERVERPROCESS_CHILD"

func TestMain(m *testing.M) {
	if manner, port, child := strings.Cut(os.Getenv(childEnv), " "); child {
		fmt.Println(serve(manner, port))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// program returns this test binary as a server with the given behaviour.
func program(manner string) Program {
	return Program{
		Name: manner, Patience: 60 * time.Second,
		Command: func(port int) *exec.Cmd { return child(manner, strconv.Itoa(port)) },
		Answers: func(s *Server) bool {
			pid, parent, err := ask(s.Port())
			return err == nil && (pid == s.Pid() || parent == s.Pid())
		},
	}
}

func child(manner, port string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+manner+" "+port)
	return cmd
}

// serve sends its process id and its parent's to every client, or lets a child do so.
func serve(manner, port string) error {
	switch manner {
	case "broken":
		return fmt.Errorf("no such option")
	case "parent":
		return child("plain", port).Run()
	case "dying":
		return die(port)
	case "breeder":
		go func() {
			for ; ; <-time.After(2 * time.Millisecond) {
				_ = (&exec.Cmd{Path: "/bin/sleep", Args: []string{"bred on " + port, "600"}}).Start()
			}
		}()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Fprint(c, os.Getpid(), os.Getppid())
		_ = c.Close()
	}
}

// die ends as soon as a child serves, and leaves the child behind.
func die(port string) error {
	cmd := child("plain", port)
	EndWithParent(cmd, syscall.SIGKILL)
	if err := cmd.Start(); err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	for err == nil {
		if _, _, err := ask(n); err == nil {
			return fmt.Errorf("pid %d serves", cmd.Process.Pid)
		}
		<-time.After(pause)
	}
	return err
}

// ask requests the process ids from the server on port.
func ask(port int) (pid, parent int, err error) {
	c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return 0, 0, err
	}
	reply, err := io.ReadAll(c)
	if err == nil {
		_, err = fmt.Sscan(string(reply), &pid, &parent)
	}
	return pid, parent, err
}

// until waits until the server on port answers or, if answers is false, until it has failed to
// answer three times in a row: a busy machine may be late once.
func until(t *testing.T, port int, answers bool) {
	t.Helper()
	unanswered := 0
	for give := time.Now().Add(2 * time.Minute); ; <-time.After(pause) {
		pid, _, err := ask(port)
		if err == nil {
			unanswered = 0
		} else {
			unanswered++
		}
		if answers && err == nil || !answers && unanswered == 3 {
			return
		}
		if time.Now().After(give) {
			t.Fatalf("port %d: pid %d, %v; want an answer: %t", port, pid, err, answers)
		}
	}
}
