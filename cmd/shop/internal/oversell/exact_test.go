package oversell_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// Ten buyers come to three processes for five items, through each strategy that must not oversell, on
// embedded and on real servers: five are sold.
func TestExact(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) stores{
		"embedded":   embedded,
		"postgresql": func(t *testing.T) stores { return real(t, oversell.PostgreSQL) },
		"mariadb":    func(t *testing.T) stores { return real(t, oversell.MySQL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := open(t).processes(t, 3, oversell.Env{Work: 5 * time.Millisecond, Buyers: 10})
			for _, k := range oversell.Kinds() {
				if k.Wrong != oversell.Never || all[0].Lacks(k.Name) != "" {
					continue
				}
				if r := sell(t, all, k.Name, 5); !r.Exact || r.Sold != 5 || r.Left != 0 || r.Errors != 0 || r.Buyers != 10 {
					t.Errorf("%s: %v: %+v", k.Name, &r, r)
				}
			}
			must(t, all[0].Forget(t.Context()))
			must(t, all[0].Tables.Drop(t.Context()))
		})
	}
}

// The same with the locks in a ZooKeeper, whose nodes are all removed afterwards.
func TestExactWithZooKeeper(t *testing.T) {
	t.Parallel()
	all := embedded(t).zooKeeper(t).processes(t, 3, oversell.Env{Work: 5 * time.Millisecond, Buyers: 10})
	if r := sell(t, all, "zookeeper", 5); !r.Exact || r.Sold != 5 || r.Errors != 0 {
		t.Errorf("%v: %+v", &r, r)
	}
	must(t, all[0].Forget(t.Context()))
	wantNoNodes(t, all[0].ZooKeeper)
}

// wantNoNodes checks that a ZooKeeper has none but its own.
func wantNoNodes(t *testing.T, servers []string) {
	t.Helper()
	c, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	must(t, err)
	defer c.Close()
	if nodes, _, err := c.Children("/"); err != nil || !slices.Equal(nodes, []string{"zookeeper"}) {
		t.Errorf("left: %v, %v", nodes, err)
	}
}

// The orders must be as many as the sale counts: neither an order that none of the buyers can have,
// nor one that is no longer counted.
func TestReserveCounts(t *testing.T) {
	for name, alter := range map[string]func(e *oversell.Env, s *oversell.Reserve) error{
		"0 orders, and the sale counts 1": func(_ *oversell.Env, s *oversell.Reserve) error { return s.Buy(t.Context(), "stranger") },
		"1 orders, and the sale counts 0": func(e *oversell.Env, s *oversell.Reserve) error {
			err := s.Buy(t.Context(), e.OrderIDs("reserve")[0])
			_, canceled := s.Sale.Cancel(t.Context(), e.OrderIDs("reserve")[0])
			return errors.Join(err, canceled)
		},
	} {
		e := embedded(t).processes(t, 1, oversell.Env{Buyers: 1})[0]
		shelf, err := e.Fill(t.Context(), "reserve", 5)
		must(t, err)
		s, end, err := e.Open("reserve")
		must(t, err)
		defer end()
		must(t, alter(e, s.(*oversell.Reserve)))
		if n, err := shelf.Orders(t.Context()); err == nil || err.Error() != name {
			t.Errorf("%d orders, %v, want %s", n, err, name)
		}
	}
}

// In one process a mutex is enough.
func TestMutexInOneProcess(t *testing.T) {
	all := embedded(t).processes(t, 1, oversell.Env{Work: time.Millisecond, Buyers: 10})
	if r := sell(t, all, "mutex", 5); !r.Exact || r.Sold != 5 {
		t.Errorf("%v: %+v", &r, r)
	}
}
