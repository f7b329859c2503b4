package sms_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

func load(t *testing.T, o *sms.Outbox, r io.Reader) sms.Report {
	t.Helper()
	report, err := sms.Import(t.Context(), o, r, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The sample is a few hundred good rows, all due, to numbers that no person has.
func TestSample(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		report := load(t, o, sms.Sample())
		if report.Rows < 300 || report.Accepted != report.Rows || len(report.Bad) > 0 {
			t.Fatalf("%+v, want 300 or more rows, all accepted", report)
		}
		wantCounts(t, o, sms.Counts{Queued: report.Rows, Due: report.Rows})
		fictional := regexp.MustCompile(`^(\+120255501\d\d|\+447700900\d\d\d)$`)
		all, err := o.List(t.Context(), sms.Queued, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if !fictional.MatchString(r.Message.To) {
				t.Errorf("%s goes to a number that a person may have", r.Message.ID)
			}
		}
		if again := load(t, o, sms.Sample()); again.Known != report.Rows || again.Accepted != 0 {
			t.Errorf("imported again: %+v, want all known", again)
		}
	})
}

func TestImportListsBadRows(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		file, err := os.Open("testdata/bad.csv")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		o := outbox(t, client)
		report := load(t, o, file)
		if report.Rows != 19 || report.Accepted != 3 || report.Known != 1 || report.Refused != 15 {
			t.Errorf("%d rows, %d accepted, %d known, %d refused, want 19, 3, 1, 15", report.Rows, report.Accepted, report.Known, report.Refused)
		}
		want := []string{
			`line 3: to is "120****0102", must be + and 8 to 15 digits, the first not 0`,
			`line 4: to is "+44 77****0102"`,
			`line 5: to is "****"`,
			`line 6: to is "+020****0103"`,
			`line 7: text is empty, must be 1 to 1000 printable characters`,
			`line 8: text is blank`,
			`line 9: text is 1001 characters long`,
			`line 10: text is unprintable at character 11 (U+0007)`,
			`line 11: at is "tomorrow", must be RFC 3339`,
			`line 12: at is "2025-02-30 10:00:00"`,
			`line 13: id is "bad id!"`,
			`line 14: the row has 5 columns, the header 4`,
			`line 15: a quote within a field`,
			`line 16: to is "120****0113", must be + and 8 to 15 digits, the first not 0; text is empty, must be 1 to 1000 printable characters; at is "never"`,
			`line 17: id "ok-1": the id is known with other content`,
		}
		for i, b := range report.Bad {
			if i >= len(want) || !strings.HasPrefix(b.String(), want[i]) {
				t.Errorf("bad row %d is %q, want %q", i, b, want[min(i, len(want)-1)])
			}
		}
		if r := get(t, o, "ok-2"); !r.Due.Equal(time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)) || !strings.Contains(r.Message.Text, "row\nhas") {
			t.Errorf("ok-2 is %q, due %v", r.Message.Text, r.Due)
		}
	})
}

func TestImportHeaders(t *testing.T) {
	const good = "+12025550101,Hello\n"
	for _, c := range []struct {
		name, file string
		accepted   int
		want       string
	}{
		{"no id, no at", "to,text\n" + good, 1, ""},
		{"other order", "text,to\nHello,+12025550101\n", 1, ""},
		{"capitals, spaces, byte order mark", "\ufeffTo , TEXT\n" + good, 1, ""},
		{"CRLF", "to,text\r\n+12025550101,Hello\r\n", 1, ""},
		{"no newline at the end", "to,text\n+12025550101,Hello", 1, ""},
		{"only a header", "to,text\n", 0, ""},
		{"empty", "", 0, "header is missing"},
		{"no header", good, 0, `column is "+12025550101"`},
		{"semicolons", "to;text\n", 0, `column is "to;text"`},
		{"twice", "to,text,to\n", 0, `column is "to"`},
		{"no text", "to,id\n", 0, "column is without text"},
		{"broken", "to,te\"xt\n", 0, "line 1:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := outbox(t, connect(t, &redis.Options{Addr: miniredis.RunT(t).Addr()}))
			report, err := sms.Import(t.Context(), o, strings.NewReader(c.file), nil)
			if report.Accepted != c.accepted || (err == nil) != (c.want == "") {
				t.Errorf("%+v, %v, want %d accepted", report, err, c.accepted)
			}
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
}

// Rows without an id are named after their content: the same row again, in the
// file or in another, is the same message.
func TestImportNamesRowsByContent(t *testing.T) {
	o := outbox(t, connect(t, &redis.Options{Addr: miniredis.RunT(t).Addr()}))
	const a, b = "+12025550101,Hello,2026-03-01 09:30:00\n", "+12025550101,Hello,2026-03-01 09:30:01\n"
	report := load(t, o, strings.NewReader("to,text,at\n"+a+b+a))
	if report.Accepted != 2 || report.Known != 1 {
		t.Errorf("%+v, want 2 accepted, 1 known", report)
	}
	report = load(t, o, strings.NewReader("to,text,at\n"+b+"+12025550101,Hello,2026-03-01T10:30:00+01:00\n"))
	if report.Accepted != 0 || report.Known != 2 {
		t.Errorf("in another order and another notation: %+v, want 2 known", report)
	}
}

// A quote that is never closed ends the import with an error, not the memory;
// the rows before it are kept.
func TestImportUnclosedQuote(t *testing.T) {
	o := outbox(t, connect(t, &redis.Options{Addr: miniredis.RunT(t).Addr()}))
	r := io.MultiReader(strings.NewReader("to,text\n+12025550101,Hello\n+12025550102,\"Hel"), endless{})
	report, err := sms.Import(t.Context(), o, r, nil)
	if err == nil || !strings.Contains(err.Error(), "after line 2: a row is longer than") || report.Accepted != 1 {
		t.Errorf("%+v, %v, want the first row and an error after line 2", report, err)
	}
	report, err = sms.Import(t.Context(), o, strings.NewReader("to,text\n+12025550103,\"Hello\n+12025550104,Hello\n"), nil)
	if err != nil || len(report.Bad) != 1 || report.Bad[0].String() != "line 2: a quote is wrong or not closed; the lines to 3 were read as one row" {
		t.Errorf("%+v, %v, want line 2 bad", report, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A file with 20,000 bad rows: all are counted, the first thousand listed.
func TestImportListsSoManyBadRows(t *testing.T) {
	o := outbox(t, connect(t, &redis.Options{Addr: miniredis.RunT(t).Addr()}))
	const n = 20_000
	report := load(t, o, strings.NewReader("to,text\n"+strings.Repeat("12025550101,no plus\n", n)))
	if report.Refused != n || len(report.Bad) != sms.MaxBad || report.Bad[sms.MaxBad-1].Line != sms.MaxBad+1 {
		t.Errorf("%d refused, %d listed, want %d and %d", report.Refused, len(report.Bad), n, sms.MaxBad)
	}
}

// The store is away: the error names the lines, and nothing is claimed for them.
func TestImportWithoutAStore(t *testing.T) {
	o := outbox(t, connect(t, &redis.Options{Addr: "127.0.0.1:1"}))
	report, err := sms.Import(t.Context(), o, strings.NewReader("to,text\n+12025550101,a\n+12025550101,b\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "lines 2 to 3: ") || report.Rows != 0 {
		t.Errorf("%+v, %v, want an error for lines 2 to 3", report, err)
	}
}

func TestImportEndsWithItsContext(t *testing.T) {
	o := outbox(t, connect(t, &redis.Options{Addr: miniredis.RunT(t).Addr()}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var file strings.Builder
	file.WriteString("id,to,text\n")
	for i := range 1000 {
		fmt.Fprintf(&file, "m-%d,+12025550101,x\n", i)
	}
	if report, err := sms.Import(ctx, o, strings.NewReader(file.String()), nil); !errors.Is(err, context.Canceled) || report.Accepted != 0 {
		t.Errorf("%+v, %v, want context.Canceled", report, err)
	}
}
