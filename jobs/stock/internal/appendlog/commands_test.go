package appendlog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs/stock/internal/appendlog"
)

// resp is a command as an append log has it.
func resp(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}

func TestAppendLogCommands(t *testing.T) {
	const k = "p:order:"
	zero := resp("SELECT", "0")
	begun := resp("HSET", "p:shelf", "book", "B", "epoch", "E", "mark", "1", "changes", "0", "closed", "restoring", "stepped", "1")
	opened := resp("HDEL", "p:shelf", "closed", "stepped")
	for _, c := range []struct {
		name, text, want, err string
	}{
		{name: "empty", want: "[]"},
		{name: "one", text: zero + resp("SET", k+"a", "1"), want: "[a=1]"},
		{name: "in small letters", text: resp("set", k+"a", "1"), want: "[a=1]"},
		{name: "the last of two", text: resp("SET", k+"a", "1") + resp("SET", k+"a", "2\r\n$"), want: "[a=2\r\n$]"},
		{name: "with options", text: resp("SET", k+"a", "1", "KEEPTTL"), want: "[a=1]"},
		{name: "flushed", text: resp("SET", k+"a", "1") + resp("FLUSHALL") + resp("SET", k+"b", "2"), want: "[a=1 b=2]"},
		{name: "deleted", text: resp("SET", k+"a", "1") + resp("SET", k+"b", "1") + resp("DEL", "x", k+"a") + resp("UNLINK", k+"b"), want: "[]"},
		{name: "deleted and set again", text: resp("SET", k+"a", "1") + resp("DEL", k+"a") + resp("SET", k+"a", "2"), want: "[a=2]"},
		{name: "of others", text: resp("SET", "q:order:a", "1") + resp("HSET", k+"b", "c", "d"), want: "[]"},
		{name: "of another database", text: resp("SELECT", "3") + resp("SET", k+"a", "1") + zero + resp("SET", k+"b", "1"), want: "[b=1]"},
		{name: "of a transaction", text: resp("MULTI") + resp("SET", k+"a", "1") + resp("DEL", k+"a") + resp("SET", k+"b", "1") + resp("EXEC"), want: "[b=1]"},
		{name: "with annotations", text: "#TS:1\r\n" + resp("SET", k+"a", "1") + "#TS:2\r\n", want: "[a=1]"},
		{name: "too long", text: resp("SET", k+"a", strings.Repeat("x", 1<<20+1)) + resp("SET", k+"b", "1"), want: "[a= b=1]"},
		{name: "before a rebuild", text: resp("SET", k+"a", "1") + resp("SET", k+"b", "1") + begun + resp("SET", k+"b", "1") + opened + resp("SET", k+"c", "1"), want: "[b=1 c=1]"},
		{name: "before a rebuild that has no end", text: resp("SET", k+"a", "1") + begun + resp("SET", k+"b", "1"), want: "[a=1 b=1]"},
		{name: "before the second rebuild", text: resp("SET", k+"a", "1") + begun + resp("SET", k+"b", "1") + begun + resp("SET", k+"c", "1") + opened, want: "[c=1]"},
		{name: "before a rebuild of another sale", text: resp("SET", k+"a", "1") + strings.ReplaceAll(begun+opened, "p:shelf", "q:shelf"), want: "[a=1]"},
		{name: "opened without a rebuild", text: resp("SET", k+"a", "1") + opened, want: "[a=1]"},
		{name: "before a rebuild in transactions", text: resp("SET", k+"a", "1") + resp("MULTI") + begun + resp("EXEC") + resp("MULTI") + opened + resp("EXEC"), want: "[]"},
		{name: "cut transaction", text: resp("SET", k+"a", "1") + resp("MULTI") + resp("SET", k+"b", "1"), want: "[a=1]", err: "offset 85: its last transaction has no end: unexpected EOF"},
		{name: "cut in a number", text: resp("SET", k+"a", "1") + "*3", want: "[a=1]", err: "offset 35: the command has no end: unexpected EOF"},
		{name: "cut in a text", text: "*3\r\n$3\r\nSE", want: "[]", err: "offset 0: the command has no end: unexpected EOF"},
		{name: "garbage", text: resp("SET", k+"a", "1") + "what\r\n", want: "[a=1]", err: `offset 35: no append log: "what" where '*' and a number are expected`},
		{name: "no line", text: strings.Repeat("x", 1<<17), want: "[]", err: "offset 0: no append log: a line that does not end"},
		{name: "line feed", text: "*1\n", want: "[]", err: "offset 0: no append log: a line that does not end in CR LF"},
		{name: "no arguments", text: "*0\r\n", want: "[]", err: `offset 0: no append log: "*0" where a number of 1 to 1048576 is expected`},
		{name: "no length", text: "*1\r\n$-1\r\n", want: "[]", err: `offset 0: no append log: "$-1" where a number of 0 to 536870912 is expected`},
		{name: "wrong length", text: "*1\r\n$2\r\nabc\r\n", want: "[]", err: "offset 0: no append log: an argument that does not end where its length says"},
		{name: "no database", text: resp("SELECT", "x"), want: "[]", err: `offset 0: SELECT "x": strconv.Atoi: parsing "x": invalid syntax`},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, err := appendlog.Collect(strings.NewReader(c.text), "p:")
			var got []string
			for id, record := range records {
				got = append(got, id+"="+record)
			}
			slices.Sort(got)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if fmt.Sprint(got) != c.want || text != c.err {
				t.Errorf("got %q, %q, want %q, %q", fmt.Sprint(got), text, c.want, c.err)
			}
		})
	}
}

// No text makes the reader panic, and a log is read the same however it ends after whole commands.
func FuzzAppendLog(f *testing.F) {
	f.Add("a", "1", "*3\r\n$3\r\nSET\r\n")
	f.Add("b", "\r\n", "#TS\r\n")
	f.Add("c", "", "*1\r\n$5\r\nMULTI\r\n")
	f.Fuzz(func(t *testing.T, id, record, tail string) {
		_, _ = appendlog.Collect(strings.NewReader(tail), "p:")
		got, err := appendlog.Collect(strings.NewReader(resp("SET", "p:order:"+id, record)+"*2\r\n$"), "p:")
		if err == nil || got[id] != record || len(got) != 1 {
			t.Errorf("%q is read as %q, %v", record, got, err)
		}
	})
}

func TestAppendLogManifest(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"", "[]", ""},
		{"file b.2.incr.aof seq 2 type i\nfile b.1.incr.aof seq 1 type i\nfile b.1.base.rdb seq 1 type b\n", "[b.1.base.rdb b.1.incr.aof b.2.incr.aof]", ""},
		{"# a\nfile old seq 1 type h\nfile new seq 2 type i\n", "[new]", ""},
		{"file ../a seq 1 type i", "[]", `line 1 is "file ../a seq 1 type i", want file NAME seq NUMBER type b, h or i`},
		{"file a seq x type i", "[]", `line 1 is "file a seq x type i", want file NAME seq NUMBER type b, h or i`},
		{"hello", "[]", `line 1 is "hello", want file NAME seq NUMBER type b, h or i`},
	} {
		got, err := appendlog.ParseManifest(c.text)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if fmt.Sprint(got) != c.want || text != c.err {
			t.Errorf("%q: %v, %q, want %s, %q", c.text, got, text, c.want, c.err)
		}
	}
}
