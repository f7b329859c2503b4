package redislock_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

const nodesKey = "cronce:v1:{cronce.0}:nodes"

// forge writes nodes to the list behind the driver's back.
func forge(t *testing.T, c redis.UniversalClient, n int, score func(i int) float64) {
	t.Helper()
	for some := range slices.Chunk(make([]struct{}, n), 5000) {
		zs := make([]redis.Z, len(some))
		for i := range zs {
			zs[i] = redis.Z{Score: score(i), Member: fmt.Sprintf("forged-%v-%d", score(i), i+n)}
		}
		must(t, c.ZAdd(t.Context(), nodesKey, zs...).Err())
		n -= len(some)
	}
}

// A list of nodes that was tampered with, however long it is, costs a beat little,
// shrinks, and hides no node that lives.
func TestForgedNodes(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	now := float64(time.Now().UnixMilli())
	const day, many = 86_400_000, 60_000
	for name, score := range map[string]func(i int) float64{
		"live for ever":          func(int) float64 { return math.Inf(1) },
		"live for a year":        func(int) float64 { return now + 365*day },
		"left before time began": func(int) float64 { return math.Inf(-1) },
		"live for some hours":    func(i int) float64 { return now + day/4 + float64(i) },
		"died long ago":          func(i int) float64 { return float64(i) },
		"left lately":            func(i int) float64 { return -now + float64(i) },
	} {
		must(t, c.Del(t.Context(), nodesKey).Err())
		forge(t, c, many, score)
		for _, node := range []string{"a", "b"} {
			p, err := d.Beat(t.Context(), node, 25*time.Second)
			if err != nil || !slices.Contains(p.Nodes, node) || !slices.Contains(p.Nodes, "a") || len(p.Nodes) > lock.MaxNodes {
				t.Errorf("forged nodes that %s: %d nodes are told to %s, %v", name, len(p.Nodes), node, err)
			}
		}
		roll, err := d.Members(t.Context())
		if err != nil || len(roll.Members) > lock.MaxNodes+lock.MaxGone {
			t.Errorf("forged nodes that %s: %d members, %v", name, len(roll.Members), err)
		}
		for _, node := range []string{"a", "b"} {
			i := slices.IndexFunc(roll.Members, func(m lock.Member) bool { return m.Node == node })
			if i < 0 || !roll.Members[i].Alive(roll.Now) {
				t.Errorf("forged nodes that %s: %s is not listed as alive", name, node)
			}
		}
		if left := c.ZCard(t.Context(), nodesKey).Val(); left > many+2-2*500 {
			t.Errorf("forged nodes that %s: %d are left after two beats", name, left)
		}
	}
}

// What cannot be a node's name is neither told nor kept.
func TestForgedNames(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	until := float64(time.Now().Add(time.Minute).UnixMilli())
	for _, name := range []string{"", "a|b", "\x1b[31m", "\xff", strings.Repeat("x", 1<<20)} {
		must(t, c.ZAdd(t.Context(), nodesKey, redis.Z{Score: until, Member: name}).Err())
	}
	p, err := d.Beat(t.Context(), "a", time.Minute)
	if err != nil || fmt.Sprint(p.Nodes) != "[a]" {
		t.Errorf("the nodes are %.200q, %v", p.Nodes, err)
	}
	roll, err := d.Members(t.Context())
	if err != nil || len(roll.Members) != 1 || roll.Members[0].Node != "a" {
		t.Errorf("the members are %d, %v", len(roll.Members), err)
	}
	if n := c.MemoryUsage(t.Context(), nodesKey, 0).Val(); n > 10_000 {
		t.Errorf("the list takes %d bytes", n)
	}
}

// With more nodes than are told, the asker is among those that are.
func TestMoreNodesThanAreTold(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	now := float64(time.Now().UnixMilli())
	forge(t, c, lock.MaxNodes, func(i int) float64 { return now + 20_000 + float64(i) })
	p, err := d.Beat(t.Context(), "a", time.Hour)
	if err != nil || len(p.Nodes) != lock.MaxNodes || !slices.Contains(p.Nodes, "a") {
		t.Errorf("%d nodes are told, %v", len(p.Nodes), err)
	}
}
