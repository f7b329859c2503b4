package clients

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// networkFilesystem returns the name of the network file system that holds or will hold a file; ""
// if it is on no known one.
func networkFilesystem(file string) string {
	var s unix.Statfs_t
	if unix.Statfs(file, &s) != nil && unix.Statfs(filepath.Dir(file), &s) != nil {
		return ""
	}
	return map[int64]string{unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB"}[int64(s.Type)] //nolint:unconvert // it is an int32 on some platforms
}
