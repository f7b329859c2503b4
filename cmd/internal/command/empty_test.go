package command

import (
	"testing"

	"github.com/spf13/pflag"
)

// A list without a text, or with an empty one, is empty, as a text is. Other values have faults of their own.
func TestIsEmpty(t *testing.T) {
	var flags pflag.FlagSet
	flags.String("text", "", "")
	flags.StringArray("array", nil, "")
	flags.StringSlice("slice", nil, "")
	flags.Int("number", 0, "")
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"text", "a", false}, {"text", "", true}, {"array", "a", false}, {"array", "", true}, {"slice", "", true}, {"slice", "a,", true}, {"number", "0", false},
	} {
		f := flags.Lookup(c.name)
		if err := f.Value.Set(c.value); err != nil {
			t.Fatal(err)
		}
		if got := isEmpty(f.Value); got != c.want {
			t.Errorf("--%s=%q: %v, want %v", c.name, c.value, got, c.want)
		}
	}
}
