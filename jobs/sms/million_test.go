package sms_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/sms"
)

// With a million messages 99 of 100 scripts of each kind hold Redis for no more than 5 ms, by the
// server's own count and slow log: make million, which sets CRONCE_SOAK. Elsewhere with 10,000, and
// the times are logged alone.
func TestMillion(t *testing.T) {
	const million = 1_000_000
	n, turns := 10_000, 20
	if os.Getenv("CRONCE_SOAK") != "" {
		n, turns = million, 200
	}
	client := connect(t, &redis.Options{Addr: redisserver.Start(t, "--save", "").Addr(), ReadTimeout: time.Minute})
	for key, value := range map[string]string{"slowlog-log-slower-than": "5000", "slowlog-max-len": "100000"} {
		if err := client.ConfigSet(t.Context(), key, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	o := outbox(t, client)
	slowest := func(name string, since time.Time) {
		t.Helper()
		logs, err := client.SlowLogGet(t.Context(), -1).Result()
		stats, err2 := client.Info(t.Context(), "commandstats", "latencystats").Result()
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		calls, over := 0, 0
		var times string
		for line := range strings.Lines(stats) {
			if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
				digits, _, _ := strings.Cut(rest, ",")
				calls, err = strconv.Atoi(digits)
			}
			if rest, ok := strings.CutPrefix(line, "latency_percentiles_usec_evalsha:"); ok {
				times = strings.TrimSpace(rest)
			}
		}
		if err != nil || calls == 0 {
			t.Fatalf("%s: the server has counted no script: %v\n%s", name, err, stats)
		}
		longest := time.Duration(0)
		for _, l := range logs {
			if strings.HasPrefix(strings.ToLower(l.Args[0]), "eval") {
				over++
				longest = max(longest, l.Duration)
			}
		}
		t.Logf("%-20s %8v, %5d scripts, µs: %s; longer than 5ms: %d, up to %v", name, time.Since(since).Round(time.Millisecond), calls, times, over, longest)
		if n == million && over*100 > calls { // one of a hundred may be one that the machine has interrupted
			t.Errorf("%s: %d of %d scripts hold Redis for more than 5ms, up to %v", name, over, calls, longest)
		}
		client.Do(t.Context(), "SLOWLOG", "RESET")
		client.Do(t.Context(), "CONFIG", "RESETSTAT")
	}
	began := time.Now()
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	acceptMany(t, o, n, func(i int) sms.Message {
		return sms.Message{ID: fmt.Sprintf("m-%07d", i), To: fmt.Sprintf("+1202%07d", i%100_000), Text: fmt.Sprintf("Your order %d is on its way and will be there soon.", i), At: at}
	})
	slowest("accept", began)

	began = time.Now()
	for _, limit := range []int{1, 1000, 50_000} {
		if all, err := o.List(t.Context(), sms.Queued, limit); err != nil || len(all) != min(limit, n) {
			t.Errorf("List of %d: %d messages, %v", limit, len(all), err)
		}
	}
	slowest("list", began)

	began = time.Now()
	for range turns {
		p := take(t, o, holder(1), 150)
		marks := make([]sms.Mark, len(p))
		for i := range p {
			marks[i] = p[i].Failed(0, "no")
		}
		mark(t, o, holder(1), marks...)
	}
	slowest("take and mark of 150", began)
	began = time.Now()
	failed, err := o.List(t.Context(), sms.Failed, 150*turns)
	if err != nil || len(failed) != 150*turns {
		t.Errorf("%d messages failed, %v", len(failed), err)
	}
	for i := range failed {
		if err := o.Retry(t.Context(), failed[i].Message.ID); err != nil {
			t.Fatal(err)
		}
	}
	slowest("list and retry of what failed", began)
	began = time.Now()
	if f, err := o.Forget(t.Context(), "+12020000042"); err != nil || f.Deleted != (n+99_957)/100_000 {
		t.Errorf("Forget = %+v, %v", f, err)
	}
	slowest("forget", began)
	began = time.Now()
	if c, err := o.Counts(t.Context()); err != nil || c.Queued < n-100 {
		t.Errorf("Counts = %+v, %v", c, err)
	}
	slowest("counts", began)

	began = time.Now()
	for range turns {
		p := take(t, o, holder(1), 50)
		marks := make([]sms.Mark, len(p))
		for i := range p {
			marks[i] = p[i].Sent(i % 2)
			if i%3 == 0 {
				marks[i] = p[i].Expired(0)
			} else if i%3 == 1 {
				marks[i] = p[i].Failed(0, "no")
			}
		}
		mark(t, o, holder(1), marks...)
		for i := 2; i < len(p); i += 3 {
			if err := o.Receive(t.Context(), sms.Receipt{ID: p[i].Message.ID, Delivered: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	slowest("receipts", began)
	if n != million {
		return
	}
	brief, err := sms.NewOutbox(client, sms.Options{Retention: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	began = time.Now()
	for forgotten := 1; forgotten > 0; {
		if forgotten, err = brief.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slowest("trim", began)
}
