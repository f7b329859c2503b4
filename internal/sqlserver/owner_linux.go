package sqlserver

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged makes servers that root starts run as the user nobody, and makes that user the owner
// of their folder: PostgreSQL refuses to run as root.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	uid, gid, err := nobody()
	if err != nil {
		return nil, err
	}
	owner := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // ids come from the system
	return &syscall.SysProcAttr{Credential: owner}, os.Chown(dir, uid, gid)
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
