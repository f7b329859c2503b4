package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
)

// A file on a network file system is refused before it is made.
func TestSQLiteOnANetworkFilesystem(t *testing.T) {
	for on, want := range map[string]string{"NFS": "store: is a file on NFS, on which the locks of SQLite do not hold: use a local disk", "": ""} {
		file := filepath.Join(t.TempDir(), "cronce.db")
		s := &Store{Config: config.Default(nil), close: func() {}}
		err := s.useSQLite(on, file)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || exit.Code(err, false) != exit.WrongUsage) {
			t.Errorf("on %q: %v", on, err)
		}
		if _, err := os.Stat(file); on != "" && err == nil {
			t.Errorf("on %q: the file was made", on)
		}
		s.Close()
	}
}
