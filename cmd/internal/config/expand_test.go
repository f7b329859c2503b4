package config

import (
	"slices"
	"testing"
)

func TestExpand(t *testing.T) {
	c := Default(func(name string) (string, bool) { return "of " + name, name != "UNSET" })
	for text, want := range map[string]string{
		"": "", "plain $ $A $$ {A}": "plain $ $A $$ {A}", "${A}": "of A", "a${A}${B_2}z": "aof Aof B_2z", "$${A}": "${A}", "$$${A}": "$${A}", "${A": "!", "${}": "!",
		"${2}": "!", "${a b}": "!", "${UNSET}": "!",
	} {
		got, secrets, err := c.Expand("at", text, false)
		if err != nil {
			got = "!"
		}
		if got != want || len(secrets) > 0 != HasVariable(text) && want != "!" {
			t.Errorf("%q: %q with the secrets %q, want %q", text, got, secrets, want)
		}
	}
	if _, secrets, _ := c.Expand("at", "${A} ${B}", false); !slices.Equal(secrets, []string{"of A", "of B"}) {
		t.Errorf("the secrets are %q", secrets)
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"", "${A}", "$${A}", "$$${", "${${A}}", "$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := Default(func(string) (string, bool) { return "value", true })
		if got, _, err := c.Expand("at", Literal(text), false); got != text || err != nil || HasVariable(Literal(text)) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
		_, _, _ = c.Expand("at", text, false)
	})
}
