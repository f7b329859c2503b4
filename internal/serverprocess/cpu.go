package serverprocess

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// CPU returns the CPU time that a process has used and, if children is true, that its living
// children have used.
func CPU(pid int, children bool) time.Duration {
	var ticks int
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended in the meantime
		}
		of, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // behind the name, which may contain blanks
		if parent, _ := strconv.Atoi(string(f[1])); of != pid && (parent != pid || !children) {
			continue
		}
		user, _ := strconv.Atoi(string(f[11]))
		system, _ := strconv.Atoi(string(f[12]))
		ticks += user + system
	}
	return time.Duration(ticks) * (time.Second / 100)
}
