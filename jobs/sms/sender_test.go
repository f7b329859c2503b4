package sms

import (
	"errors"
	"testing"
)

// Messages that were given back do not count as taken: neither against the batch, nor in what the
// run says of itself. Another handful makes sense only if a request was made.
func TestTally(t *testing.T) {
	p := Piece{Message: Message{ID: "a", To: "+12025550101"}}
	var sum tally
	if sum.add([]Mark{p.Back(), p.Back()}) {
		t.Error("no request was made, and another handful is taken")
	}
	if sum.taken != 0 {
		t.Errorf("%d taken, want 0", sum.taken)
	}
	if !sum.add([]Mark{p.Back(), p.Retry(0, 0, "busy")}) || !sum.add([]Mark{p.Failed(0, "no")}) || !sum.add([]Mark{p.Sent(0)}) {
		t.Error("requests were made, and no other handful is taken")
	}
	if sum.taken != 3 || sum.sent != 1 || sum.failed != 1 || sum.waiting != 1 {
		t.Errorf("%+v", sum)
	}
}

// A redisError is what a store says by itself.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// What a store says while it starts, fails over or is busy goes away; a refusal stays;
// what is no word of the store is doubt.
func TestFinal(t *testing.T) {
	for text, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory": false, "READONLY You can't write against a read only replica.": false,
		"MASTERDOWN Link with MASTER is down": false, "CLUSTERDOWN The cluster is down": false, "TRYAGAIN Multiple keys request during rehashing": false,
		"MOVED 3999 127.0.0.1:6381": false, "ASK 3999 127.0.0.1:6381": false, "BUSY Redis is busy running a script": false, "NOSCRIPT No matching script": false,
		"NOPERM this user has no permissions": true, "OOM command not allowed": true, "WRONGTYPE Operation against a key": true,
	} {
		if got := final(redisError(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if final(errors.New("i/o timeout")) {
		t.Error("a timeout is taken for the store's word")
	}
}
