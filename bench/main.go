// Command bench measures cronce against other libraries on this machine and
// prints its table as Markdown. Progress and details go to standard error.
//
//	go run .                    everything, about 80 minutes
//	go run . -quick             a short version of everything, with noisy numbers
//	go run . -suite lock,claims only these suites
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/cronce/cronce/bench/internal/proc"
)

func main() {
	proc.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := &Env{Log: os.Stderr}
	only := flag.String("suite", "", "which `suites` to run, separated by commas (default all): "+names())
	flag.BoolVar(&env.Quick, "quick", false, "a short version")
	flag.IntVar(&env.Ticks, "ticks", 0, "how many `ticks` the cluster suite counts (default 60, quick 6)")
	flag.StringVar(&env.Plots, "plots", "", "a `folder` for the plots of the scale suite")
	profiles := flag.String("profile", "", "a `folder` for the profiles of each measured process")
	flag.Parse()
	picked, err := pick(*only)
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if err == nil && *profiles != "" {
		err = os.Setenv(proc.Profiles, *profiles)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if !measureAll(ctx, env, picked) {
		stop()
		os.Exit(1)
	}
}

// measureAll runs suites one after the other and prints their rows. It reports whether all could be
// measured; a row that misses its target is not a failure.
func measureAll(ctx context.Context, env *Env, suites []Suite) bool {
	var rows []Row
	ok := true
	for _, s := range suites {
		env.logf("== %s", s.Name)
		found, err := s.Run(ctx, env)
		rows = append(rows, found...)
		if err != nil {
			ok = false
			env.logf("%s: %v", s.Name, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Print(table(rows), "\n", machine(env), "\n")
	return ok
}

// pick returns suites by name.
func pick(list string) ([]Suite, error) {
	if list == "" {
		return suites, nil
	}
	var picked []Suite
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(suites, func(s Suite) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("-suite: %q is not one of %s", name, names())
		}
		picked = append(picked, suites[i])
	}
	return picked, nil
}

func names() string {
	var all []string
	for _, s := range suites {
		all = append(all, s.Name)
	}
	return strings.Join(all, ", ")
}
