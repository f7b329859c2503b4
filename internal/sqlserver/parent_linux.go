package sqlserver

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// attributes make the system signal a server when the test process dies without
// its cleanup, as in a panic or a timeout. Root's servers run as nobody:
// PostgreSQL refuses to run as root.
func attributes(died syscall.Signal) (*syscall.SysProcAttr, error) {
	a := &syscall.SysProcAttr{Pdeathsig: died}
	if os.Getuid() != 0 {
		return a, nil
	}
	uid, gid, err := nobody()
	a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // ids come from the system
	return a, err
}

// give hands a folder over to who runs the servers.
func give(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := nobody()
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

func nobody() (uid, gid int, err error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return 0, 0, fmt.Errorf("tests that run as root need an unprivileged user: %w", err)
	}
	if uid, err = strconv.Atoi(u.Uid); err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	return uid, gid, err
}
