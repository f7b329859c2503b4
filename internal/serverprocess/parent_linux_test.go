package serverprocess

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A process that dies without its cleanup leaves no server behind.
func TestEndWithParent(t *testing.T) {
	port := FreePort()
	out, _ := child("dying", strconv.Itoa(port)).CombinedOutput() // the output contains the result
	var pid int
	if _, err := fmt.Sscanf(strings.TrimSpace(string(out)), "pid %d serves", &pid); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	until(t, port, false)
}
