package demo

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The built-in Redis has a clock that advances: keys expire, and TIME advances.
func TestDemoStoreClock(t *testing.T) {
	d, err := openStore("", func(url string, _ bool) (*Cluster, error) {
		o, err := redis.ParseURL(url)
		client := redis.NewClient(o)
		return &Cluster{Client: client, Close: func() { _ = client.Close() }}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	first, err := d.Client.Time(t.Context()).Result()
	if err != nil || time.Since(first).Abs() > time.Minute {
		t.Fatalf("TIME is %v: %v", first, err)
	}
	if err := d.Client.Set(t.Context(), "key", "x", 30*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); d.Client.Exists(t.Context(), "key").Val() > 0; {
		if time.Now().After(until) {
			t.Fatal("the key does not expire")
		}
	}
	if now := d.Client.Time(t.Context()).Val(); now.Sub(first) < 30*time.Millisecond {
		t.Errorf("TIME went from %v to %v", first, now)
	}
}

// A demo fails if any of its sources saw something twice: the journal, the logs, or
// the gateways, unless a node was killed between request and mark.
func TestDemoCanFail(t *testing.T) {
	log := newLogView(io.Discard, true)
	for _, attempt := range []int{1, 1, 2} {
		log.addLine("n", fmt.Sprintf(`{"msg":"run started","job":"a","tick":"2026-01-01T00:00:00.000Z","attempt":%d}`, attempt))
	}
	for _, id := range []string{"m-1", "m-2", "m-1"} {
		log.addOutput("n", "sms "+id+" to ...")
	}
	if len(log.started) != 2 || repeats(log.started) != 1 || len(log.sent) != 2 || repeats(log.sent) != 1 {
		t.Errorf("started %v, sent %v", log.started, log.sent)
	}
	for want, reports := range map[bool][]Report{
		true:  {{OK: true}, {OK: true, PrintedTwice: 1, Kills: 1}},
		false: {{}, {OK: true, StartedTwice: 1, Kills: 1}, {OK: true, PrintedTwice: 1}},
	} {
		for _, r := range reports {
			if r.holds(r.OK) != want {
				t.Errorf("%+v: ok is %v", r, !want)
			}
		}
	}
}
