package sms_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/sms"
)

// A file as a spreadsheet writes it: a byte order mark before a quoted header, quotes
// around every field, lines that end with CRLF.
func TestImportAsSpreadsheetsWrite(t *testing.T) {
	const body = "\"id\",\"to\",\"text\",\"at\",\"until\",\"priority\",\"zone\",\"person\"\r\n" +
		"\"a\",\"+12025550101\",\"Say \"\"hi\"\", then\r\nwait\",\"\",\"2999-01-01 00:00:00\",\"Urgent\",\"Asia/Tokyo\",\"p-1\"\r\n" +
		"\"b\",\"+12025550102\",\"می\u200cخواهم 👨\u200d👩\u200d👧\",\"2998-01-01 00:00:00\",\"\",\"\",\"\",\"\"\r\n" +
		"\"c\",\"+12025550103\",\"x\",\"\",\"soon\",\"loud\",\"Mars\",\"p 1\"\r\n"
	for _, mark := range []string{"", "\ufeff"} {
		o := outbox(t, newMini(t))
		r, err := sms.Import(t.Context(), o, strings.NewReader(mark+body), nil)
		if err != nil || r.Accepted != 2 || r.Refused != 1 {
			t.Fatalf("with mark %q: %+v, %v", mark, r, err)
		}
		want := sms.Message{ID: "a", To: "+12025550101", Text: "Say \"hi\", then\nwait", Until: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC),
			Priority: sms.Urgent, Zone: "Asia/Tokyo", Person: "p-1"}
		if got := get(t, o, "a").Message; got != want {
			t.Errorf("%#v\n%+q", got, got.Text)
		}
		for _, part := range []string{`until is "soon"`, `priority is "loud"`, `zone is "Mars"`, `person is "****"`} {
			if !strings.Contains(r.Bad[0].String(), part) {
				t.Errorf("%s lacks %s", r.Bad[0], part)
			}
		}
	}
}

// table is a file of n rows, each hundredth of them bad.
func table(n int) string {
	var b strings.Builder
	b.WriteString("to,text\n")
	for i := range n {
		to := fmt.Sprintf("+1202%07d", i)
		if i%100 == 99 {
			to = "?"
		}
		fmt.Fprintf(&b, "%s,Text %d\n", to, i)
	}
	return b.String()
}

// An import that is cut off at any row goes on behind it: no row is sent to the store that was
// before the last checkpoint, and the counts are those of one import.
func TestImportResumes(t *testing.T) {
	const rows = 2000
	whole := table(rows)
	cut := errors.New("cut off")
	for _, at := range []int{0, 10, 5000, len(whole) / 2, len(whole) - 1} {
		o := outbox(t, newMini(t))
		var last sms.Checkpoint
		options := sms.ImportOptions{Progress: func(c sms.Checkpoint) { last = c }}
		_, err := sms.ImportWith(t.Context(), o, io.MultiReader(strings.NewReader(whole[:at]), failing{cut}), options)
		if !errors.Is(err, cut) {
			t.Fatalf("cut off at %d: %v", at, err)
		}
		options.From = last
		r, err := sms.ImportWith(t.Context(), o, strings.NewReader(whole), options)
		if err != nil || r.Rows != rows || r.Refused != 20 || r.Accepted+r.Known != 1980 || r.Known > 1 {
			t.Errorf("cut off at %d, resumed at row %d: %+v, %v", at, last.Rows, r, err)
		}
		if last.Rows != rows || last.Accepted != r.Accepted {
			t.Errorf("the last checkpoint is %+v", last)
		}
		wantCounts(t, o, sms.Counts{Queued: 1980, Due: 1980})
		// Done, it is done: nothing is sent to the store.
		options.From = last
		if again, err := sms.ImportWith(t.Context(), nil, strings.NewReader(whole), options); err != nil || again.Rows != rows {
			t.Errorf("done, it is %+v, %v", again, err)
		}
	}
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A file that is another before the checkpoint is refused, and nothing of it imported; what
// was added behind it is imported.
func TestImportResumesNoOtherFile(t *testing.T) {
	o := outbox(t, newMini(t))
	var from sms.Checkpoint
	whole := table(300)
	if _, err := sms.ImportWith(t.Context(), o, strings.NewReader(whole), sms.ImportOptions{Progress: func(c sms.Checkpoint) { from = c }}); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"changed": strings.Replace(whole, "Text 7\n", "Text seven\n", 1), "shorter": table(299), "another order": strings.Replace(whole, "to,text", "text,to", 1),
		"a row between": strings.Replace(whole, "to,text\n", "to,text\n+12025550199,x\n", 1),
	} {
		if r, err := sms.ImportWith(t.Context(), nil, strings.NewReader(other), sms.ImportOptions{From: from}); !errors.Is(err, sms.ErrOtherFile) {
			t.Errorf("%s: %+v, %v, want ErrOtherFile", name, r, err)
		}
	}
	r, err := sms.ImportWith(t.Context(), o, strings.NewReader(table(310)), sms.ImportOptions{From: from})
	if err != nil || r.Rows != 310 || r.Accepted != 307 {
		t.Errorf("with rows behind it: %+v, %v", r, err)
	}
}
