package stock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// The environment of TestLosses: how many rounds it makes of each durability (3), and
// the seed of their plans, as it was printed: seed for the same rounds, or seed/round
// for that round again and again.
const (
	roundsEnv = "CRONCE_STOCK_ROUNDS"
	seedEnv   = "CRONCE_STOCK_SEED"
)

const fewRounds = 3

// A loss is how the store loses what it had acknowledged.
type loss int

const (
	emptied    loss = iota // FLUSHALL
	deleted                // the sale's keys are deleted, and no others
	restarted              // it is killed, and comes back empty
	wentBack               // it is killed, and comes back with what it had saved before
	lagged                 // it fails over to a replica that has lagged
	stragglers             // and one shop after the other notices
	failedBack             // and back to the first, which knows nothing of what came in between
	twice                  // it is emptied, and again while the shelf is being rebuilt
	losses
)

func (l loss) String() string {
	return [...]string{"emptied", "deleted", "restarted", "went back", "lagged", "stragglers", "failed back", "twice"}[l]
}

// A plan is what happens in a round, at which times from its beginning.
type plan struct {
	loss     loss
	before   time.Duration // the state that the store goes back to
	at       time.Duration // the loss
	again    time.Duration // after the loss: the second step of some
	end      time.Duration // the buyers' end
	kill     int           // the member that is killed; beyond the last: none
	killAt   time.Duration
	operator bool   // an operator rebuilds the shelf, beside the shops
	supply   int64  // of each product
	seed     uint64 // of the buyers
}

func (p plan) String() string {
	text := fmt.Sprintf("%v at %v", p.loss, p.at)
	switch p.loss {
	case wentBack, lagged:
		text += fmt.Sprintf(" to the state at %v", p.before)
	case stragglers, failedBack, twice:
		text += fmt.Sprintf(" to the state at %v, the second step %v later", p.before, p.again)
	}
	if p.kill < members {
		text += fmt.Sprintf(", member %d killed at %v", p.kill, p.killAt)
	}
	if p.operator {
		text += ", with an operator"
	}
	return text
}

const members = 3

// planned is the plan of a round.
func planned(seed uint64, round int) plan {
	r := rand.New(rand.NewPCG(seed, uint64(round)))
	ms := func(from, to int) time.Duration { return time.Duration(from+r.IntN(to-from)) * time.Millisecond }
	p := plan{loss: loss(r.IntN(int(losses))), before: ms(50, 400), again: ms(0, 400), kill: r.IntN(2 * members), operator: r.IntN(3) == 0,
		supply: 20 + r.Int64N(60), seed: r.Uint64()}
	p.at = p.before + ms(0, 400)
	p.end = p.at + ms(100, 900)
	p.killAt = ms(0, int(p.end/time.Millisecond))
	return p
}

// Three shops sell with PostgreSQL as their book, and at a random moment of each round
// the store loses what it had acknowledged, in each way in which a store can. Never is
// more sold than there is. Where the book was waited for, it has each order as its buyer was
// answered; where it was not, only orders of this round are missing, which the book never had. Once the
// shelf was rebuilt, store, book and orders are equal; and each total, price and deletion is
// what a seller was answered last.
func TestLosses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		settled bool
	}{{"settled", true}, {"reserved", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rounds, seed, only := lossRounds(t)
			l := newLosses(t, c.settled)
			for n := range rounds {
				round := n
				if only >= 0 {
					round = only
				}
				p := planned(seed, round)
				if only >= 0 {
					p.seed += uint64(n) << 32 // the same plan, for other orders
				}
				l.where = fmt.Sprintf("%s=%d/%d: %v", seedEnv, seed, round, p)
				if testing.Verbose() {
					t.Log(l.where)
				}
				l.round(p)
				if t.Failed() {
					t.Fatalf("in round %d, replay all with %s=%d, this round's plan with %s", n, seedEnv, seed, l.where)
				}
			}
			l.end()
			t.Logf("%s=%d: %d rounds, %d orders accepted, %d sold out, %d over the limit, %d missing, %d changes of products",
				seedEnv, seed, rounds, len(l.m.accepted), l.m.refused, l.m.limited, len(l.missing), l.changes)
		})
	}
}

// lossRounds is how many rounds there are, with which seed, and which one alone (-1: all).
func lossRounds(t *testing.T) (rounds int, seed uint64, only int) {
	t.Helper()
	rounds, seed, only = fewRounds, rand.Uint64(), -1
	var err, err2, err3 error
	if text := os.Getenv(roundsEnv); text != "" {
		rounds, err = strconv.Atoi(text)
	}
	if text := os.Getenv(seedEnv); text != "" {
		number, round, alone := strings.Cut(text, "/")
		seed, err2 = strconv.ParseUint(number, 10, 64)
		if alone {
			only, err3 = strconv.Atoi(round)
		}
	}
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return rounds, seed, only
}

// A losing is a market on two servers, of which one serves at a time; each member finds
// it through a proxy of its own.
type losing struct {
	audience
	m       *market
	servers [2]*redisserver.Server
	clients [2]redis.UniversalClient
	serving int // which server
	proxies []*rig.Proxy

	revived bool                   // a store came back with orders that were lost
	had     map[string]stock.State // by order id: the last state in which the book was seen to have it
	earlier map[string]bool        // orders of earlier rounds: all were settled when this one began
	missing map[string]bool        // orders that were acknowledged and lost before they were settled
	held    held
	changes int // of products, that were acknowledged
}

var lossSKUs = []string{"cup", "tea"}

func newLosses(t *testing.T, settled bool) *losing {
	s := sqlserver.SharedPostgres(t)
	c := setup{Driver: s.Driver(), DSN: s.DSN(s.Create(t)), Dialect: stock.PostgreSQL, Hold: 3 * time.Second, Settled: settled, Restore: true}
	l := &losing{audience: newAudience(t, &c), had: map[string]stock.State{}, earlier: map[string]bool{}, missing: map[string]bool{}}
	for i := range l.servers {
		l.servers[i] = redisserver.Start(t, "--repl-diskless-sync-delay", "0")
		l.clients[i] = connect(t, l.servers[i].Addr())
	}
	var addresses []string
	for range members {
		p := rig.NewProxy(t, l.servers[0].Addr())
		l.proxies, addresses = append(l.proxies, p), append(addresses, p.Addr())
	}
	l.m = newMarketAt(t, c, addresses)
	l.there()
	return l
}

func (l *losing) client() redis.UniversalClient { return l.clients[l.serving] }

// round sells, loses, and judges.
func (l *losing) round(p plan) {
	t := l.t
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l.supply(ctx, p.supply)
	l.replicate()
	l.m.mu.Lock()
	for id := range l.m.accepted {
		l.earlier[id] = true
	}
	l.m.mu.Unlock()
	stop := make(chan struct{})
	var buyers, others sync.WaitGroup
	began := time.Now()
	until := func(d time.Duration) { <-time.After(time.Until(began.Add(d))) }
	for i := range 6 {
		name := fmt.Sprintf("%x-%d", p.seed>>32, i)
		buyers.Go(func() { l.m.buy(ctx, name, lossSKUs, stop) })
	}
	others.Go(func() { l.sell(ctx, p.seed, stop) })
	others.Go(func() { l.watchBook(stop) })
	if p.kill < members {
		others.Go(func() {
			until(p.killAt)
			l.kill(p.kill)
		})
	}
	l.lose(p, until)
	if p.operator {
		others.Go(func() { l.operate(ctx) })
	}
	until(p.end)
	close(stop)
	buyers.Wait()
	others.Wait()
	l.settled()
	l.judge()
	l.judgeBuyers(p)
}

// supply puts in some more of each product, and waits until nothing is on its way to the book.
func (l *losing) supply(ctx context.Context, more int64) {
	for _, sku := range lossSKUs {
		l.m.put(ctx, sku, l.m.totals[sku]+more)
	}
	l.settled()
}

// replicate makes the other server a replica that has all.
func (l *losing) replicate() {
	master, replica := l.servers[l.serving], l.servers[1-l.serving]
	replica.Tell(fmt.Sprintf("REPLICAOF 127.0.0.1 %d", master.Port()))
	await(l.t, "the replica has everything", func() bool {
		info := replica.Tell("INFO replication")
		return strings.Contains(info, "master_link_status:up") && strings.Contains(info, "master_sync_in_progress:0")
	})
}

func (l *losing) kill(i int) {
	l.m.mu.Lock()
	victim := l.m.members[i]
	l.m.mu.Unlock()
	victim.kill()
	l.m.start(i)
}

// lose lets the store lose something.
func (l *losing) lose(p plan, until func(time.Duration)) {
	server, replica := l.servers[l.serving], l.servers[1-l.serving]
	dump := filepath.Join(server.Dir(), "dump.rdb")
	switch p.loss {
	case emptied, twice:
		until(p.at)
		server.Tell("FLUSHALL")
		if p.loss == twice {
			until(p.at + p.again)
			server.Tell("FLUSHALL")
		}
	case deleted:
		until(p.at)
		l.delete()
	case restarted:
		until(p.at)
		server.Kill()
		_ = os.Remove(dump) // there may be none
		server.Restart()
	case wentBack:
		until(p.before)
		server.Tell("SAVE")
		saved, err := os.ReadFile(dump)
		until(p.at)
		server.Kill()
		if err == nil {
			err = os.WriteFile(dump, saved, 0o600)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		server.Restart()
	case lagged, stragglers, failedBack:
		until(p.before)
		replica.Tell("REPLICAOF 127.0.0.1 1") // no server listens there
		until(p.at)
		replica.Tell("REPLICAOF NO ONE")
		l.serving = 1 - l.serving
		for i, proxy := range l.proxies {
			if p.loss == stragglers && i > 0 {
				<-time.After(p.again / (members - 1))
			}
			proxy.Retarget(replica.Addr())
		}
		if p.loss == failedBack {
			until(p.at + 5*p.again) // so that some time the shelf was rebuilt
			l.revived = true
			l.serving = 1 - l.serving
			for _, proxy := range l.proxies {
				proxy.Retarget(server.Addr())
			}
		}
	}
}

// delete removes the sale and nothing else.
func (l *losing) delete() {
	keys, err := l.client().Keys(l.t.Context(), saleTag+"*").Result()
	if err == nil && len(keys) > 0 {
		err = l.client().Del(l.t.Context(), keys...).Err()
	}
	if err != nil {
		l.t.Error(err)
	}
}

// operate is an operator that notices, and rebuilds the shelf.
func (l *losing) operate(ctx context.Context) {
	s := newSale(l.t, l.client(), stock.Options{Book: l.book.Database})
	for ctx.Err() == nil {
		_, err := s.RestoreNow(ctx)
		if err == nil || errors.Is(err, stock.ErrNothingToRestore) {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}
