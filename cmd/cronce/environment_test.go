package main

import (
	"strings"
	"testing"
)

// A node logs a misspelt variable, so that each line of its log stays JSON; other
// commands print a line for a person.
func TestStrayVariableIsReported(t *testing.T) {
	_, url := newRedis(t)
	t.Setenv("CRONCE_NAMESPCE", "s3cret")
	const line = "cronce: warning: the environment variable \"CRONCE_NAMESPCE\" is not known, did you mean CRONCE_NAMESPACE?\n"
	t.Setenv("CRONCE_ELEPHANTS", "s3cret")
	if r := cronce(t, "journal", "--redis", url, "x"); !strings.Contains(r.stderr, line) || strings.Contains(r.stderr, "ELEPHANTS") {
		t.Errorf("journal prints %q", r.stderr)
	}
	jobs := file(t, "c.yaml", "jobs: [{kind: sleep, name: a, spec: '@every 1h', sleep: {for: 1s}}]\n")
	if r := cronce(t, "node", "--check", "--config", jobs); r.code != exitFine || !strings.Contains(r.stderr, line) || !strings.Contains(r.stderr, "ELEPHANTS") {
		t.Errorf("node --check prints %q", r.stderr)
	}
	n := startNode(t, url, "jobs: [{kind: sleep, name: a, spec: '@every 1h', sleep: {for: 1s}}]\n")
	eventually(t, "the start", func() bool { return len(n.logs("node started")) == 1 })
	want := `"msg":"variable not known","variable":"CRONCE_NAMESPCE","meant":"CRONCE_NAMESPACE"}`
	if got := n.stderr.String(); strings.Contains(got, "cronce: warning") || strings.Contains(got, "s3cret") || strings.Count(got, want) != 1 {
		t.Errorf("the node logs %s", got)
	}
}
