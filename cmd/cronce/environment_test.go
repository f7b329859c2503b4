package main

import (
	"slices"
	"strings"
	"testing"
)

// A variable whose name begins as those of cronce do and is none of them is reported,
// unless the configuration names it or Kubernetes sets it.
func TestStrayVariables(t *testing.T) {
	t.Parallel()
	c := defaultConfig() // without a shop
	c.Redis.PasswordEnv = "CRONCE_OWN_SECRET"
	c.Jobs = append(c.Jobs, jobConfig{SMS: &smsConfig{TokenEnv: "CRONCE_SMS_TOKEN"}}, jobConfig{})
	environ := []string{
		"PATH=/bin", "CRONCE_REDIS_URL=redis://h", "CRONCE_OWN_SECRET=s", "CRONCE_SMS_TOKEN=s", "CRONCE_REDIS_PASSWORD=s", "CRONCE_SHOP=h", "CRONCE_FENCE=7",
		"CRONCE_SERVICE_HOST=10.0.0.1", "CRONCE_SERVICE_PORT_HTTP=80", "CRONCE_PORT=tcp://10.0.0.1:80", "CRONCE_PORT_80_TCP_ADDR=10.0.0.1", "CRONCE_NODES_PORT_80_TCP=x",
		"CRONCE_REDIS_ULR=redis://h", "CRONCE_LOGLEVEL=debug", "CRONCE_ELEPHANTS=s3cret", "CRONCE_HTTP_PORT=80", "CRONCE_ORDERS=s",
	}
	want := []string{
		`the environment variable "CRONCE_ELEPHANTS" is not known`,
		`the environment variable "CRONCE_HTTP_PORT" is not known`,
		`the environment variable "CRONCE_LOGLEVEL" is not known, did you mean CRONCE_LOG_LEVEL?`,
		`the environment variable "CRONCE_ORDERS" is not known`,
		`the environment variable "CRONCE_REDIS_ULR" is not known, did you mean CRONCE_REDIS_URL?`,
	}
	told := func() (texts []string) {
		for _, v := range c.strayVariables(environ) {
			texts = append(texts, v.String())
		}
		return texts
	}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.Shop = &shopConfig{Database: databaseConfig{DSNEnv: "CRONCE_ORDERS"}}
	if got := told(); !slices.Equal(got, slices.Delete(want, 3, 4)) {
		t.Errorf("with a shop %q", got)
	}
}

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
