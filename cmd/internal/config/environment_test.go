package config

import (
	"slices"
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
	environ := []string{"PATH=/bin", "CRONCE_FENCE=7", "CRONCE_REDIS_PASSWORD=x", "A=x", "B=x", "C=x", "CRONCE_GATEWAY_TOKEN=x"}
	if got, want := c.ChildEnv(environ), []string{"PATH=/bin", "CRONCE_FENCE=7"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
