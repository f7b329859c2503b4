package clients

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/stdlib"
)

// A login ends by its limit if the server accepts the connection and is silent, also for a caller
// that would wait.
func TestLoginAtASilentServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nothing answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for source, d := range map[string]driver.DriverContext{
		"cronce@tcp(" + silent.Addr().String() + ")/shop":       mysql.MySQLDriver{},
		"postgres://cronce@" + silent.Addr().String() + "/shop": stdlib.GetDefaultDriver().(driver.DriverContext),
	} {
		c, err := d.OpenConnector(source)
		if err != nil {
			t.Fatal(err)
		}
		patient, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if _, err := (bounded{c, 10 * time.Millisecond}).Connect(patient); !errors.Is(err, context.DeadlineExceeded) || patient.Err() != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}
