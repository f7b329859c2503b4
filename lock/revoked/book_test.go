package revoked_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/revoked"
)

const now = 1_795_207_852_937_123 // µs

func forcing(id string) *driver.ForceRequest {
	return &driver.ForceRequest{Key: "k", ID: id, By: "alice", Reason: "why"}
}

// A lease that was taken is known under its owner and its fence, until its time would
// have been over; also after the book was written and read.
func TestWhy(t *testing.T) {
	var b revoked.Book
	b.Force(now, forcing("id"), []revoked.Holder{{Owner: "a/1", Fence: 7, Until: now + 10}})
	b.Force(now, forcing("id2"), []revoked.Holder{{Owner: "b/1", Fence: 8, Until: now + 20}})
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*revoked.Book{"made": &b, "read": revoked.Decode(text)} {
		for _, c := range []struct {
			owner string
			fence int64
			at    int64
			want  error
		}{
			{"a/1", 7, now, driver.ErrForced},
			{"a/1", 7, now + 9, driver.ErrForced},
			{"a/1", 7, now + 10, driver.ErrLost},
			{"a/1", 6, now, driver.ErrLost},
			{"a/1", 8, now, driver.ErrLost},
			{"a/1", 0, now, driver.ErrLost},
			{"a", 7, now, driver.ErrLost},
			{"b/1", 8, now + 19, driver.ErrForced},
			{"b/1", 8, now + 20, driver.ErrLost},
		} {
			if got := b.Why(c.at, &driver.LeaseRef{Key: "k", Owner: c.owner, Fence: c.fence}, driver.ErrLost); !errors.Is(got, c.want) || errors.Is(got, driver.ErrForced) != errors.Is(c.want, driver.ErrForced) {
				t.Errorf("%s: %s with %d at %d: %v, want %v", name, c.owner, c.fence, c.at-now, got, c.want)
			}
		}
	}
}

// Records are kept for 90 days after the latest of them, at most so many, each with the
// earliest of its owners; the book says when it may be dropped.
func TestRecords(t *testing.T) {
	const kept = int64(driver.ForceRecordsKept / 1000)
	var b revoked.Book
	for i := range driver.MaxForceRecords + 2 {
		var from []revoked.Holder
		for n := range driver.MaxForcedOwners + 1 {
			from = append(from, revoked.Holder{Owner: fmt.Sprint("a/", n), Fence: int64(100 - n), Until: now + 1})
		}
		made := b.Force(now-now%1000, forcing(fmt.Sprint(i)), from)
		if made.Holders != driver.MaxForcedOwners+1 || len(made.Owners) != driver.MaxForcedOwners || made.Owners[0].Fence != 100-driver.MaxForcedOwners {
			t.Fatalf("the record is %+v", made)
		}
		made.Owners[0].Owner = "changed by its reader"
	}
	if b.Expires() != now-now%1000+kept {
		t.Errorf("the book counts until %d, want %d", b.Expires(), now-now%1000+kept)
	}
	all := b.Records(now - now%1000 + kept - 1)
	if len(all) != driver.MaxForceRecords || all[0].ID != "2" || all[0].Owners[0].Owner != fmt.Sprint("a/", driver.MaxForcedOwners) {
		t.Errorf("the records are %+v", all)
	}
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if read := revoked.Decode(text).Records(now); !reflect.DeepEqual(read, all) {
		t.Errorf("read, the records are %+v, want %+v", read, all)
	}
	if _, known := b.Record("1"); known {
		t.Error("a record that is not kept is known")
	}
	if made, known := b.Record("9"); !known || made.ID != "9" {
		t.Errorf("the latest record is %+v, %v", made, known)
	}
	if all := b.Records(now - now%1000 + kept); all != nil {
		t.Errorf("records of long ago: %+v", all)
	}
	b.Force(now-now%1000+kept, forcing("new"), []revoked.Holder{{Owner: "a", Fence: 1, Until: now}})
	if all := b.Records(now + kept); len(all) != 1 {
		t.Errorf("beside a new record there are %d of long ago", len(all)-1)
	}
}

// So many leases are remembered; the latest.
func TestMostLeases(t *testing.T) {
	var b revoked.Book
	for i := range int64(revoked.MaxLeases + 1) {
		b.Force(now, forcing("id"), []revoked.Holder{{Owner: "a", Fence: 1 + i, Until: now + 100 + i}})
	}
	for fence, want := range map[int64]error{1: nil, 2: driver.ErrForced, revoked.MaxLeases + 1: driver.ErrForced} {
		if got := b.Why(now, &driver.LeaseRef{Owner: "a", Fence: fence}, nil); !errors.Is(got, want) {
			t.Errorf("the lease %d: %v, want %v", fence, got, want)
		}
	}
	b.Force(now+100+revoked.MaxLeases-1, forcing("late"), []revoked.Holder{{Owner: "b", Fence: 1, Until: now + 9999}})
	if text, _ := b.Encode(); strings.Count(text, `"until"`) != 2 {
		t.Errorf("leases whose time is over are kept: %s", text)
	}
}

// The longest book is one that can be read, also if its texts must be escaped.
func TestLongestText(t *testing.T) {
	for _, char := range []string{`"`, "<"} {
		longestText(t, char)
	}
}

func longestText(t *testing.T, char string) {
	var b revoked.Book
	long := func(n int) string { return strings.Repeat(char, n) }
	var from []revoked.Holder
	for i := range revoked.MaxLeases {
		from = append(from, revoked.Holder{Owner: long(driver.MaxKey), Fence: driver.MaxNumber - int64(i), Until: math.MaxInt64})
	}
	for i := range driver.MaxForceRecords {
		f := &driver.ForceRequest{Key: "k", ID: fmt.Sprint(i) + long(driver.MaxKey-1), By: long(driver.MaxKey), Reason: long(driver.MaxReason)}
		b.Force(now, f, from)
	}
	text, err := b.Encode()
	if err != nil || len(text) > revoked.MaxText {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	for _, made := range revoked.Decode(text).Records(now) {
		if made.Unreadable != "" {
			t.Fatalf("not readable: %q", made.Unreadable)
		}
	}
}

// Text that is no book, or no record, is shown as unreadable, and prevents nothing.
func TestForgedText(t *testing.T) {
	const good = `{"id":"i","by":"b","reason":"r","at":1795207852937,"holders":1,"owners":[{"owner":"o","fence":1}]}`
	for text, want := range map[string]string{
		"":                         "",
		`{}`:                       "",
		`no JSON`:                  "no JSON",
		strings.Repeat("x", 1<<20): strings.Repeat("x", 200),
		`{}` + strings.Repeat(" ", revoked.MaxText): "{}" + strings.Repeat(" ", 198),
		`{"records":[{}]}`:                          "  ",
		`{"records":[` + good + `]}`:                "",
		`{"records":[` + strings.Replace(good, `"by":"b"`, `"by":"b\u001b"`, 1) + `]}`:      "i b\x1b r",
		`{"records":[` + strings.Replace(good, `:1}`, `:0}`, 1) + `]}`:                      "i b r",
		`{"records":[` + strings.Replace(good, `"holders":1`, `"holders":0`, 1) + `]}`:      "i b r",
		`{"records":[` + strings.Replace(good, `"at":`, `"at":-`, 1) + `]}`:                 "i b r",
		`{"records":[` + strings.Replace(good, `"owner":"o"`, `"owner":""`, 1) + `]}`:       "i b r",
		`{"records":[{"id":"i","by":"b","reason":"r"}]}`:                                    "i b r",
		`{"records":[` + strings.Replace(good, `"id"`, `"unreadable":"why","id"`, 1) + `]}`: "why",
	} {
		b := revoked.Decode(text)
		all := b.Records(now)
		if got := len(all) > 0 && all[0].Unreadable != ""; got != (want != "") || got && all[0].Unreadable != want {
			t.Errorf("%.100q: %+v, want %q", text, all, want)
		}
		if len(all) != 0 && !strings.Contains(text, "records") && want == "" {
			t.Errorf("%.100q: it has records: %+v", text, all)
		}
		if never := b.Expires() == math.MaxInt64; never != (want != "") {
			t.Errorf("%.100q: the book can be deleted at %d", text, b.Expires())
		}
		b.Force(now, forcing("new"), []revoked.Holder{{Owner: "a", Fence: 7, Until: now + 10}})
		if _, known := b.Record("new"); !known {
			t.Errorf("%.100q: the new record is missing", text)
		}
		again, _ := b.Encode()
		if read := revoked.Decode(again).Records(now); len(read) != len(all)+1 || !reflect.DeepEqual(read[:len(all)], append([]driver.ForceRecord{}, all...)) {
			t.Errorf("%.100q: read again the records are %+v", text, read)
		}
	}
}
