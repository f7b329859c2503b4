package main

import (
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// The audit has the newest records. Its exit code reports a number that is missing, and a record that
// cannot be read.
func TestAuditExitCodes(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 1, 0)
	audit := func(args ...string) result {
		return cronce(t, append([]string{"audit", "--redis", cl.url}, args...)...)
	}
	for _, reason := range []string{"the first", "the second", "the third"} {
		cronce(t, "pause", "job", "--reason", reason, "--redis", cl.url).want(t, exit.Fine)
		cronce(t, "resume", "job", "--redis", cl.url).want(t, exit.Fine)
	}
	audit("-n", "0").want(t, exit.WrongUsage, "audit: -n is 0, must be 1 to 10000")
	audit("-n", "10001").want(t, exit.WrongUsage, "audit: -n is 10001, must be 1 to 10000")
	audit("--job", "jib").want(t, exit.WrongUsage, `did you mean "job"?`)
	audit("-n", "10000").want(t, exit.Fine, "NUMBER  WRITTEN, UTC", "the first", "the third")
	if r := audit("-n", "1", "-o", "name"); r.code != exit.WrongUsage {
		t.Errorf("audit -o name ends with %d: %s", r.code, r.stdout)
	}
	keys := cl.Client.Keys(t.Context(), "*:au").Val()
	if len(keys) != 1 {
		t.Fatalf("audits: %v", keys)
	}
	if err := cl.Client.LSet(t.Context(), keys[0], 2, "gone").Err(); err != nil {
		t.Fatal(err)
	}
	audit().want(t, exit.NotKnown, `"gone"`, "the first", "the third")
	audit("-n", "1").want(t, exit.Fine)
	if err := cl.Client.LRem(t.Context(), keys[0], 1, "gone").Err(); err != nil {
		t.Fatal(err)
	}
	audit().want(t, exit.Failed, "the first", "the third", "number 4 of the audit follows number 2")
	cl.server.Close()
	audit().want(t, exit.NotKnown)
}
