package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A variable whose name begins like cronce's variables and is none of them is reported, unless the
// configuration names it or Kubernetes sets it.
func TestStrayVariables(t *testing.T) {
	t.Parallel()
	c := Default(nil)
	c.Redis.PasswordEnv = "CRONCE_OWN_SECRET"
	environ := []string{
		"PATH=/bin", "CRONCE_REDIS_URL=redis://h", "CRONCE_OWN_SECRET=s", "CRONCE_REDIS_PASSWORD=s", "CRONCE_FENCE=7",
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
	reported := func() (texts []string) {
		for _, v := range c.StrayVariables(environ) {
			texts = append(texts, v.String())
		}
		return texts
	}
	if got := reported(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.StorePasswordEnv = "CRONCE_ORDERS"
	if got := reported(); !slices.Equal(got, slices.Delete(want, 3, 4)) {
		t.Errorf("with a variable of its own %q", got)
	}
}

// A command gets no variable with a secret of cronce, under any name.
func TestChildEnv(t *testing.T) {
	t.Parallel()
	c := Default(nil)
	c.Redis = Redis{PasswordEnv: "A", SentinelPasswordEnv: "B"}
	c.StorePasswordEnv = "C"
	environ := []string{"PATH=/bin", "CRONCE_FENCE=7", "CRONCE_REDIS_PASSWORD=x", "A=x", "B=x", "C=x", "CRONCE_GATEWAY_TOKEN=x",
		"CRONCE_PORT=tcp://10.0.0.1:80", "CRONCE_REDIS_URL=redis://h", "DATABASE_URL=mysql://me:x@h/d", "CRONCE_REDIS_URL=redis://me@h", "CRONCE_REDIS_URL=redis://me:x@h", "CRONCE_REDIS_URL=x", "CRONCE_STORE=mysql://me:x@h/d", "CRONCE_STORE=sqlite:d"}
	want := []string{"PATH=/bin", "CRONCE_FENCE=7", "CRONCE_PORT=tcp://10.0.0.1:80", "CRONCE_REDIS_URL=redis://h", "DATABASE_URL=mysql://me:x@h/d", "CRONCE_STORE=sqlite:d"}
	if got := c.ChildEnv(environ); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for embedded, want := range map[bool]string{true: "A=x", false: "CRONCE_REDIS_PASSWORD=x A=x"} {
		if got := NodeEnv([]string{"CRONCE_CONFIG=x", "CRONCE_STORE=x", "CRONCE_REDIS_PASSWORD=x", "A=x"}, embedded); strings.Join(got, " ") != want {
			t.Errorf("a node of a demo has %q, want %s", got, want)
		}
	}
}

// A file with variables has comments and empty lines. A fault names the line by its place in the file,
// and repeats nothing of it.
func TestVariablesFromFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "env")
	for text, want := range map[string]struct{ env, fault string }{
		"# keys\n\nA=hunter1\n B = \"hunter 2\" \n": {env: "A=hunter1 B=hunter 2"},
		"# keys\n\nA=hunter1\nhunter2\n":            {fault: "line 4 is not NAME=value"},
		"=hunter1":                                  {fault: "line 1 is not NAME=value"},
		"A B=hunter1":                               {fault: "line 1 is not NAME=value"},
		"A='hunter1'\nB=\"hunter 2\"\n":             {env: "A=hunter1 B=hunter 2"},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env, secrets, err := Default(nil).ExecEnv("jobs[0].exec", &Exec{EnvFile: file})
		switch {
		case want.fault != "":
			if err == nil || !strings.Contains(err.Error(), want.fault) || strings.Contains(err.Error(), "hunter") {
				t.Errorf("%q: %v, want %q", text, err, want.fault)
			}
		case err != nil || strings.Join(env, " ") != want.env || !slices.Equal(secrets, []string{"hunter1", "hunter 2"}):
			t.Errorf("%q: %q, secrets %q, %v", text, env, secrets, err)
		}
	}
	if err := os.WriteFile(file, []byte(`A="`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Default(func(string) (string, bool) { return "hunter1", true })
	if env, secrets, err := c.ExecEnv("jobs[0].exec", &Exec{EnvFrom: []string{"B"}, EnvFile: file}); err != nil || strings.Join(env, " ") != `B=hunter1 A="` || !slices.Equal(secrets, []string{"hunter1", `"`}) {
		t.Errorf("%q, secrets %q, %v", env, secrets, err)
	}
	if _, secrets, err := c.ExecEnv("jobs[0].exec", &Exec{EnvFrom: []string{"B"}}); err != nil || !slices.Equal(secrets, []string{"hunter1"}) {
		t.Errorf("without a file: secrets %q, %v", secrets, err)
	}
}
