package clients

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
)

// listen returns a server that accepts connections and is silent.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nothing answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// login logs in to a database within a second, for a caller that would wait.
func login(t *testing.T, dsn string) error {
	t.Helper()
	d, err := config.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := open(d, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	patient, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err = db.PingContext(patient)
	if patient.Err() != nil {
		t.Errorf("%s: waited for a minute", dsn)
	}
	return err
}

// A login ends by its limit if the server accepts the connection and is silent, also for a caller
// that would wait.
func TestLoginAtASilentServer(t *testing.T) {
	silent := listen(t).Addr().String()
	for _, scheme := range []string{"mysql", "postgres"} {
		if err := login(t, scheme+"://cronce@"+silent+"/shop"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// A silent host leaves the next host of the DSN its time. On a machine that stands still the time of both may pass.
func TestLoginAtTheNextHost(t *testing.T) {
	silent, next := listen(t), listen(t)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if c, err := next.Accept(); err == nil {
			_ = c.Close()
		}
	}()
	for range 5 {
		err := login(t, "postgres://cronce@"+silent.Addr().String()+","+next.Addr().String()+"/shop?sslmode=disable")
		select {
		case <-asked:
			return
		default:
			t.Logf("the next host was not asked: %v", err)
		}
	}
	t.Error("the next host was never asked")
}

// The timeout of a DSN of MySQL limits the whole login, in place of the usual limit.
func TestLimitOfTheUserOfMySQL(t *testing.T) {
	d, err := config.ParseDSN("mysql://cronce@" + listen(t).Addr().String() + "/shop?timeout=100ms")
	if err != nil {
		t.Fatal(err)
	}
	db, err := open(d, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	patient, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := db.PingContext(patient); !errors.Is(err, context.DeadlineExceeded) || patient.Err() != nil {
		t.Error(err)
	}
}

// A limit that the user has set holds in place of the usual one.
func TestLimitOfTheUser(t *testing.T) {
	const dsn = "postgres://cronce:p%40ss@a:5432,b:5433/shop?sslmode=disable"
	t.Setenv("PGCONNECT_TIMEOUT", "")
	if got, want := limited(dsn, 15*time.Second), strings.Replace(dsn, "?", "?connect_timeout=15&", 1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := limited(dsn+"&connect_timeout=40", 15*time.Second); got != dsn+"&connect_timeout=40" {
		t.Error(got)
	}
	t.Setenv("PGCONNECT_TIMEOUT", "40")
	if got := limited(dsn, 15*time.Second); got != dsn {
		t.Error(got)
	}
}

// The error of a login to PostgreSQL that was tried at several addresses is one line, and keeps its cause.
func TestLoginErrorIsOneLine(t *testing.T) {
	err := login(t, "postgres://nobody@127.0.0.1:1,127.0.0.1:2/x")
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatal(err)
	}
	text := err.Error()
	if strings.ContainsAny(text, "\n\t") || strings.Contains(text, ":;") ||
		!strings.Contains(text, "`: 127.0.0.1:1 (") || !strings.Contains(text, "refused; 127.0.0.1:2 (") {
		t.Errorf("%q", text)
	}
}
