package main

import (
	"context"
	"time"

	"github.com/cronce/cronce/bench/internal/contend"
)

// every counts the runs of an @every job per period if the nodes were started at different times.
func every(ctx context.Context, env *Env) ([]Row, error) {
	row := Row{What: "`@every 5s` on n nodes started 0.7 s apart, runs per period", Reach: "1.00", OK: true}
	for _, contender := range append([]string{contend.Cronce}, contend.Peers...) {
		for _, n := range either(env, []int{3, 10}, []int{3}) {
			r, err := measureCluster(ctx, env, everyArgs(env, contender, n))
			if err != nil {
				return nil, err
			}
			per := ratio(r.Runs, r.Expected)
			if contender == contend.Cronce {
				row.also(r.Extra == 0 && r.Missed == 0, "%.2f at %d nodes", per, n)
			} else {
				row.beside("%s %.2f at %d nodes", contender, per, n)
			}
		}
	}
	return []Row{row}, nil
}

func everyArgs(env *Env, contender string, nodes int) clusterArgs {
	return clusterArgs{
		Setup: contend.Setup{Contender: contender, Nodes: nodes, Jobs: 20, Every: 5 * time.Second, Stagger: 700 * time.Millisecond},
		Hold:  5 * time.Millisecond, Ticks: either(env, 8, 2),
	}
}
