package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
)

const (
	fleetGrowth = 2.0 // the processor of Redis per tick in the largest fleet, relative to 3 nodes
	recipeNodes = 150 // the largest fleet of the recipe
)

func (e *Env) fleets() []int { return either(e, []int{3, 10, 50, 150, 1000}, []int{3, 50, 150}) }

// scale measures how the cost of a tick grows with the number of nodes, in turns in one run.
func scale(ctx context.Context, env *Env) ([]Row, error) {
	found := map[string]map[int][]clusterResult{contend.Cronce: {}, contend.Recipe: {}}
	for range either(env, 5, 1) {
		for _, nodes := range env.fleets() {
			for contender, results := range found {
				if contender != contend.Cronce && nodes > recipeNodes {
					continue
				}
				a := steadyCluster(env, contender, nodes)
				a.Stagger = time.Duration(nodes/100) * 2 * time.Millisecond // a server cannot accept a thousand nodes at once
				r, err := measureCluster(ctx, env, a)
				if err != nil {
					return nil, err
				}
				results[nodes] = append(results[nodes], r)
			}
		}
	}
	redis := func(r clusterResult) time.Duration { return r.RedisCPU }
	nodes := func(r clusterResult) time.Duration { return r.CPU }
	fleets := env.fleets()
	most := fleets[len(fleets)-1]
	growth := ratio(figure(found[contend.Cronce][most], redis), figure(found[contend.Cronce][fleets[0]], redis))
	return []Row{
		{
			What: fmt.Sprintf("100 jobs of 5 ms on %s nodes, CPU of Redis per tick", list(fleets)), Reach: fmt.Sprintf("≤ 2 × from %d to %d nodes", fleets[0], most),
			Measured: fmt.Sprintf("%s, %.1f ×", figures(found[contend.Cronce], fleets, redis), growth),
			Peer:     "robfig + `SET NX` + `DEL`: " + figures(found[contend.Recipe], fleets, redis), OK: growth <= fleetGrowth,
		},
		{
			What: "the same, CPU of all nodes per tick", Reach: "–",
			Measured: figures(found[contend.Cronce], fleets, nodes), Peer: figures(found[contend.Recipe], fleets, nodes), OK: true,
		},
	}, nil
}

// figure returns the median of one figure.
func figure(all []clusterResult, of func(clusterResult) time.Duration) time.Duration {
	var values []time.Duration
	for _, r := range all {
		values = append(values, of(r))
	}
	return measure.Median(values)
}

// figures lists the medians of one figure by the number of nodes.
func figures(found map[int][]clusterResult, fleets []int, of func(clusterResult) time.Duration) string {
	var texts []string
	for _, nodes := range fleets {
		if len(found[nodes]) > 0 {
			texts = append(texts, ms(figure(found[nodes], of)))
		}
	}
	return strings.Join(texts, ", ")
}
