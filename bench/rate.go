package main

import (
	"context"
	"time"

	"github.com/cronce/cronce/bench/internal/single"
)

// rateCPU is the share of a core, in percent, that 10,000 runs per second may take.
const rateCPU = 20.0

// rate measures 10,000 jobs, each due every second, spread evenly over it.
func rate(ctx context.Context, env *Env) ([]Row, error) {
	const jobs = 10_000
	row := Row{What: "10,000 due per second, store in memory, no-op jobs and logger", Reach: "≤ 20 % of a core, none dropped", OK: true}
	a := singleArgs{Window: either(env, 10*time.Second, 4*time.Second)}
	for _, scheduler := range []string{single.Cronce, single.Robfig, single.Netresearch} {
		a.Setup = single.Setup{Scheduler: scheduler, Jobs: jobs, Period: time.Second}
		r, err := measureSingle(ctx, env, a)
		if err != nil {
			return nil, err
		}
		core, dropped := 100*ratio(r.CPU, a.Window), jobs*int(a.Window.Seconds())-r.Due
		if scheduler == single.Cronce {
			row.also(core <= rateCPU && dropped == 0, "%.0f %% of a core, %d dropped", core, dropped)
		} else {
			row.beside("%s without a store %.0f %% of a core, %d dropped", scheduler, core, dropped)
		}
	}
	return []Row{row}, nil
}
