package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/lockcommand"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// An operator frees a lock: it is recorded and shown, its holder's lease is lost, and the next
// command is granted a greater fence.
func TestLockForce(t *testing.T) {
	_, url := newRedis(t)
	force := func(more ...string) result {
		return cronce(t, append([]string{"lock", "key", "--force-unlock", "--redis", url}, more...)...)
	}
	force("--reason", "why").want(t, exit.Refused, "held by no owner")
	lease := holdWith(t, url, lock.Options{TTL: driver.MinTTL, Note: "nightly"})
	fence := strconv.FormatInt(lease.Fence(), 10)
	force("--reason", "host db-3 is gone", "--who", "alice@ops").want(t, exit.Fine, "FREED BY FORCE", "alice@ops", "host db-3 is gone", "nightly", fence)
	select {
	case <-lease.Context().Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the holder was not notified")
	}
	if err := context.Cause(lease.Context()); !errors.Is(err, lock.ErrForced) {
		t.Errorf("the cause is %v", err)
	}
	_ = lease.Release(t.Context())
	cronce(t, under(url, []string{"--try"}, `test "$CRONCE_FENCE" -gt `+fence)...).want(t, exit.Fine)
	force("--reason", "again").want(t, exit.Refused, "held by no owner")

	show := cronce(t, "lock", "key", "--show", "--redis", url)
	show.want(t, exit.Fine, `"key" is free`, "alice@ops", "host db-3 is gone", fence)
	var report lockcommand.Report
	if err := json.Unmarshal([]byte(cronce(t, "lock", "key", "--show", "-o", "json", "--redis", url).stdout), &report); err != nil {
		t.Fatal(err)
	}
	if f := report.Forced; len(f) != 1 || f[0].By != "alice@ops" || f[0].Holders != 1 || len(f[0].Owners) != 1 || f[0].Owners[0].Fence != lease.Fence() || f[0].Owners[0].Note != "nightly" {
		t.Errorf("the report is %+v", report)
	}
}

// A foreign value in the place of a record is shown escaped, and other records are still shown.
func TestLockForceForged(t *testing.T) {
	m, url := newRedis(t)
	hold(t, url)
	cronce(t, "lock", "key", "--force-unlock", "--reason", "why", "--redis", url, "-o", "json").want(t, exit.Fine, `"reason": "why"`)
	key := ""
	for _, k := range m.Keys() {
		if strings.Contains(k, ":f:") {
			key = k
		}
	}
	for _, forged := range []string{"\x1b[2Jgone", "id|1|1|%1B|%1B|o|1", strings.Repeat("x", 1<<20)} {
		if _, err := m.Push(key, forged); err != nil {
			t.Fatal(err)
		}
	}
	r := cronce(t, "lock", "key", "--show", "--redis", url)
	r.want(t, exit.Fine, "why", "unreadable", `\x1b[2Jgone`)
	if strings.Contains(r.stdout, "\x1b") || len(r.stdout) > 4096 {
		t.Errorf("%d bytes are shown: %q", len(r.stdout), r.stdout)
	}
}

// With a fence the lock is taken from that owner alone, of several that hold it; without one from
// all that hold it when the command begins.
func TestLockForceFence(t *testing.T) {
	_, url := newRedis(t)
	force := func(more ...string) result {
		return cronce(t, append([]string{"lock", "key", "--force-unlock", "--reason", "why", "--redis", url}, more...)...)
	}
	var leases []*lock.Lease
	for range 3 {
		leases = append(leases, holdWith(t, url, lock.Options{Limit: 3, Fixed: true}))
	}
	fence := leases[1].Fence()
	force("--fence", fmt.Sprint(leases[2].Fence()+1)).want(t, exit.Refused, "no owner with the fence")
	force("--fence", fmt.Sprint(fence)).want(t, exit.Fine, fmt.Sprint(fence))
	force("--fence", fmt.Sprint(fence)).want(t, exit.Refused, "no owner with the fence")
	for i, lease := range leases {
		err := lease.Extend(t.Context())
		if err == nil || i == 1 {
			err = context.Cause(lease.Context())
		}
		if errors.Is(err, lock.ErrForced) != (i == 1) || (err == nil) != (i != 1) {
			t.Errorf("the holder %d of 3: %v", i, err)
		}
	}
	force().want(t, exit.Fine, "FREED BY FORCE")
	force().want(t, exit.Refused, "held by no owner")
}

func TestLockForceUsage(t *testing.T) {
	const url = "--redis=redis://127.0.0.1:1"
	for want, args := range map[string][]string{
		"needs a --reason":           {"lock", "key", "--force-unlock", url},
		"give one key and --reason":  {"lock", "key", "--force-unlock", "--reason", "why", url, "--", "true"},
		"reason is \"a\\x1b\"":       {"lock", "key", "--force-unlock", "--reason", "a\x1b", url},
		"(201 bytes)":                {"lock", "key", "--force-unlock", "--reason", strings.Repeat("x", 201), url},
		"by is \"a|b\"":              {"lock", "key", "--force-unlock", "--reason", "why", "--who", "a|b", url},
		"key is \"\"":                {"lock", "", "--force-unlock", "--reason", "why", url},
		"are for --force-unlock":     {"lock", "key", "--reason", "why", url, "--", "true"},
		"who and --fence are for":    {"lock", "key", "--fence", "1", url, "--", "true"},
		"--fence is 0":               {"lock", "key", "--force-unlock", "--reason", "why", "--fence", "0", url},
		"--fence is -1":              {"lock", "key", "--force-unlock", "--reason", "why", "--fence", "-1", url},
		"fences is 9007199254740992": {"lock", "key", "--force-unlock", "--reason", "why", "--fence", "9007199254740992", url},
	} {
		cronce(t, args...).want(t, exit.WrongUsage, want)
	}
	for _, flag := range []string{"--try", "--show", "--permits=2", "--note=why"} {
		cronce(t, "lock", "key", "--force-unlock", "--reason=why", flag, url).want(t, exit.WrongUsage, "with --force-unlock give")
	}
	cronce(t, "lock", "key", "--force-unlock", "--reason", "why", url).want(t, exit.NotKnown, "127.0.0.1:1")
}
