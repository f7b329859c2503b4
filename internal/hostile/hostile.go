// Package hostile has the texts that tests give to jobs, nodes, reasons, errors and outputs, to see that a text stays text wherever it
// is shown.
package hostile

import "strings"

// Texts end the place where a page shows them, begin a script, steer a terminal, turn the direction of the text behind them, and are long.
// Those that print and are short are names, too.
var Texts = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</td></table><script>`, `' onmouseover='alert(1)`, `</title><script>`,
	`<svg/onload=alert(1)>`, `javascript:alert(1)`, `../../login?next=//evil.example`, `{{.Caller}}`, `&lt;script&gt;`, `hx-get="/x"`,
	"\x1b[31mred\x1b]0;title\a", "\u202egnp.exe", "a\x00b", "</pre><script>\n\t\x00", strings.Repeat("\u202e\x00\"<", 4000),
	strings.Repeat("W", 128), strings.Repeat("A", 100_000),
}
