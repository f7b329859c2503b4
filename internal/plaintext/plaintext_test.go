package plaintext_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/plaintext"
)

func TestFault(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"one character", "a", ""},
		{"Persian with joiners", "می\u200cخواهم", ""},
		{"a family, joined", "👨\u200d👩\u200d👧", ""},
		{"an emoji with variation and skin", "❤\ufe0f 👍🏽", ""},
		{"the flag of Scotland", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", ""},
		{"an emoji newer than this program", "\U0001faef", ""},
		{"Hebrew with a mark of direction", "שלום\u200f!", ""},
		{"an isolate", "\u2067שלום\u2069", ""},
		{"Hindi", "क्\u200dष", ""},
		{"Arabic, a number with its sign", "\u0600١٢", ""},
		{"Mongolian", "ᠮᠤ\u180eᠠ", ""},
		{"Chinese", "你好", ""},
		{"Khmer with ends of words", "ភាសា\u200bខ្មែរ", ""},
		{"a soft hyphen", "Donau\u00addampfschiff", ""},
		{"a no-break space", "10\u00a0€", ""},
		{"empty", "", "empty"},
		{"blank", " \u3000", "blank"},
		{"ends of words alone", "\u200b\u200b", "blank"},
		{"soft hyphens alone", "\u00ad \u00ad", "blank"},
		{"joiners, marks and isolates alone", "\u200d\u200c\u200f\u2067\u2069\u2060\u061c", "blank"},
		{"variation selectors alone", "\ufe0f\ufe0e", "blank"},
		{"fillers alone", "\u3164\u115f\u2800", "blank"},
		{"a Hangul filler within", "\u3164가", ""},
		{"Arabic, a sign of a number alone", "\u0600", ""},
		{"no UTF-8", "a\xff", "not UTF-8"},
		{"as long as allowed", strings.Repeat("é", 20), ""},
		{"longer", strings.Repeat("é", 21), "21 characters long"},
		{"a bell", "é\a", "unprintable at character 2 (U+0007)"},
		{"a line break", "a\nb", "unprintable at character 2 (U+000A)"},
		{"a carriage return", "a\r", "unprintable at character 2 (U+000D)"},
		{"an escape", "\x1b[2J", "unprintable at character 1 (U+001B)"},
		{"an override of direction", "a\u202eb", "unprintable at character 2 (U+202E)"},
		{"a tag without a flag", "a\U000e0067", "unprintable at character 2 (U+E0067)"},
		{"a tag behind the end of a flag", "🏴\U000e0067a\U000e0067", "unprintable at character 4 (U+E0067)"},
		{"a byte order mark", "\ufeffa", "unprintable at character 1 (U+FEFF)"},
		{"for private use", "\ue000", "unprintable at character 1 (U+E000)"},
	} {
		if got := plaintext.Fault(c.text, 20, false); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := plaintext.Fault("a\nb", 20, true); got != "" {
		t.Errorf("a line break, allowed: %q", got)
	}
	if got := plaintext.Fault("a\r\nb", 20, true); got == "" {
		t.Error("a carriage return is allowed with line breaks")
	}
}
