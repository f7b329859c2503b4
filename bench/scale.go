package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/plot"
)

const (
	fleetGrowth = 2.0 // the processor of Redis per tick in the largest fleet, relative to 3 nodes
	recipeNodes = 150 // the largest fleet of the recipe
	recipeJobs  = 1000
)

func (e *Env) fleets() []int { return either(e, []int{3, 10, 50, 150, 1000}, []int{3, 50, 150}) }
func (e *Env) loads() []int  { return either(e, []int{10, 100, 1000, 3000}, []int{10, 100, 1000}) }

// scale measures how the cost of a tick grows with the nodes, and with the jobs that are due at one instant, in turns in one run.
func scale(ctx context.Context, env *Env) ([]Row, error) {
	byNodes, byJobs := growths{}, growths{}
	for range either(env, 5, 1) {
		for _, contender := range []string{contend.Recipe, contend.Cronce} {
			ours := contender == contend.Cronce
			for _, nodes := range env.fleets() {
				if ours || nodes <= recipeNodes {
					if err := byNodes.measure(ctx, env, contender, nodes, steadyCluster(env, contender, nodes)); err != nil {
						return nil, err
					}
				}
			}
			for _, jobs := range env.loads() {
				a := steadyCluster(env, contender, 3)
				a.Jobs = jobs
				if ours || jobs <= recipeJobs {
					if err := byJobs.measure(ctx, env, contender, jobs, a); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	if err := draw(env, byNodes, byJobs); err != nil {
		return nil, err
	}
	fleets := env.fleets()
	least, most := fleets[0], fleets[len(fleets)-1]
	growth := ratio(byNodes.median(contend.Cronce, most, redisCPU), byNodes.median(contend.Cronce, least, redisCPU))
	return []Row{
		{
			What: fmt.Sprintf("100 jobs of 5 ms on %s nodes, CPU of Redis per tick", list(fleets)), Reach: fmt.Sprintf("≤ %g × from %d to %d nodes", fleetGrowth, least, most),
			Measured: fmt.Sprintf("%s, %.1f ×", byNodes.list(contend.Cronce, redisCPU), growth), Peer: byNodes.list(contend.Recipe, redisCPU), OK: growth <= fleetGrowth,
		},
		{What: "the same, CPU of all nodes per tick", Reach: "–", Measured: byNodes.list(contend.Cronce, nodesCPU), Peer: byNodes.list(contend.Recipe, nodesCPU), OK: true},
		{What: fmt.Sprintf("%s jobs of 5 ms on 3 nodes, CPU of Redis per tick", list(env.loads())), Reach: "–", Measured: byJobs.list(contend.Cronce, redisCPU), Peer: byJobs.list(contend.Recipe, redisCPU), OK: true},
		{What: "the same, p99 of the lateness", Reach: "–", Measured: byJobs.list(contend.Cronce, most99), Peer: byJobs.list(contend.Recipe, most99), OK: true},
	}, nil
}

// growths are the results of contenders by one quantity.
type growths map[string]map[int][]clusterResult

// measure adds a result.
func (g growths) measure(ctx context.Context, env *Env, contender string, by int, a clusterArgs) error {
	a.Stagger = time.Duration(a.Nodes/100) * 2 * time.Millisecond // a server does not accept a thousand nodes at once
	r, err := measureCluster(ctx, env, a)
	if err != nil {
		return err
	}
	if g[contender] == nil {
		g[contender] = map[int][]clusterResult{}
	}
	g[contender][by] = append(g[contender][by], r)
	return nil
}

func redisCPU(r clusterResult) time.Duration { return r.RedisCPU }
func nodesCPU(r clusterResult) time.Duration { return r.CPU }
func most99(r clusterResult) time.Duration   { return r.First.P99 }

// values returns one figure of each round, the least first.
func (g growths) values(contender string, by int, figure func(clusterResult) time.Duration) (all []time.Duration) {
	for _, r := range g[contender][by] {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return all
}

// median returns the median of one figure.
func (g growths) median(contender string, by int, figure func(clusterResult) time.Duration) time.Duration {
	return measure.Median(g.values(contender, by, figure))
}

// list lists the medians of one figure, each with the least and the most of its rounds.
func (g growths) list(contender string, figure func(clusterResult) time.Duration) string {
	var texts []string
	for _, by := range slices.Sorted(maps.Keys(g[contender])) {
		all := g.values(contender, by, figure)
		texts = append(texts, fmt.Sprintf("%s (%.1f to %.1f)", ms(measure.Median(all)), all[0].Seconds()*1000, all[len(all)-1].Seconds()*1000))
	}
	return strings.Join(texts, ", ")
}

// lines returns the medians of one figure as lines of a plot, in milliseconds.
func (g growths) lines(figure func(clusterResult) time.Duration) (lines []plot.Line) {
	for _, contender := range []string{contend.Cronce, contend.Recipe} {
		line := plot.Line{Name: contender}
		for _, by := range slices.Sorted(maps.Keys(g[contender])) {
			line.X, line.Y = append(line.X, float64(by)), append(line.Y, g.median(contender, by, figure).Seconds()*1000)
		}
		lines = append(lines, line)
	}
	return lines
}

// draw writes the plots, if the command line names a folder for them.
func draw(env *Env, byNodes, byJobs growths) error {
	if env.Plots == "" {
		return nil
	}
	for name, text := range map[string]string{
		"scale-nodes.svg": plot.SVG("Redis: 100 jobs, by the number of nodes", "nodes", "ms of CPU per tick", byNodes.lines(redisCPU)),
		"scale-fleet.svg": plot.SVG("All nodes: 100 jobs, by the number of nodes", "nodes", "ms of CPU per tick", byNodes.lines(nodesCPU)),
		"scale-jobs.svg":  plot.SVG("Redis: 3 nodes, by the number of jobs due at once", "jobs", "ms of CPU per tick", byJobs.lines(redisCPU)),
		"scale-late.svg":  plot.SVG("Lateness, p99: 3 nodes, by the number of jobs due at once", "jobs", "ms", byJobs.lines(most99)),
	} {
		if err := os.WriteFile(filepath.Join(env.Plots, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("bench: plots: %w", err)
		}
	}
	return nil
}
