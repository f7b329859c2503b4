package sale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/cronce/cronce/cmd/internal/childprocess"
	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// workers are the processes that serve the buyers.
type workers struct {
	stock int
	all   []*worker
}

// A worker is one process of this binary: it reads requests from its standard input, and
// writes responses to its standard output.
type worker struct {
	name      string
	cmd       *exec.Cmd
	in        *json.Encoder
	stdin     io.Closer
	responses chan response // closed when the process has ended
	err       error         // the reason of its end, once responses is closed
}

// A request is a step for a worker: first a plan and its share of the buyers; then, for each sale,
// a strategy to prepare, and the start once all workers are ready.
type request struct {
	Plan        *plan  `json:",omitempty"`
	First, Last int    // buyers [First, Last)
	Strategy    string `json:",omitempty"`
	Start       bool   `json:",omitempty"`
}

// A response is the answer to a request: an error, the answers of buyers, or neither, which means
// ready.
type response struct {
	Error   string            `json:",omitempty"`
	Answers *oversell.Answers `json:",omitempty"`
}

// startWorkers starts the processes and waits until they are connected.
func startWorkers(ctx context.Context, s *stores, o *Options, stderr io.Writer) (*workers, error) {
	w := &workers{stock: o.Stock}
	for i := range o.Processes {
		p := &worker{name: fmt.Sprintf("process %d", i+1), cmd: o.Worker(), responses: make(chan response)}
		p.cmd.Stderr = stderr
		p.cmd.SysProcAttr = childprocess.InOwnGroup()
		if err := p.start(); err != nil {
			w.stop()
			return nil, fmt.Errorf("oversell: start %s: %w", p.name, err)
		}
		w.all = append(w.all, p)
	}
	_, err := w.each(ctx, func(i int) request {
		share := func(n int) int { return s.plan.Buyers * n / o.Processes }
		return request{Plan: &s.plan, First: share(i), Last: share(i + 1)}
	})
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("oversell: %w", err)
	}
	return w, nil
}

func (p *worker) start() error {
	stdin, errIn := p.cmd.StdinPipe()
	stdout, errOut := p.cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return err
	}
	p.stdin, p.in = stdin, json.NewEncoder(stdin)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go p.read(json.NewDecoder(stdout)) // ends with the process, for which stop waits
	return nil
}

// read forwards responses until the process ends.
func (p *worker) read(stdout *json.Decoder) {
	defer close(p.responses)
	for {
		var r response
		if err := stdout.Decode(&r); err != nil {
			break
		}
		p.responses <- r
	}
	if p.err = p.cmd.Wait(); p.err == nil {
		p.err = errors.New("it stopped")
	}
}

// sell starts the buyers of a strategy in all processes at once.
func (w *workers) sell(ctx context.Context, strategy string) ([]oversell.Answers, error) {
	if _, err := w.each(ctx, func(int) request { return request{Strategy: strategy} }); err != nil {
		return nil, err
	}
	responses, err := w.each(ctx, func(int) request { return request{Start: true} })
	if err != nil {
		return nil, err
	}
	var answers []oversell.Answers
	for i, r := range responses {
		if r.Answers == nil {
			return nil, fmt.Errorf("%s sent no answers", w.all[i].name)
		}
		answers = append(answers, *r.Answers)
	}
	return answers, nil
}

// each sends a request to every worker, and waits for all responses.
func (w *workers) each(ctx context.Context, next func(i int) request) ([]response, error) {
	for i, p := range w.all {
		if err := p.in.Encode(next(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	responses := make([]response, len(w.all))
	for i, p := range w.all {
		select {
		case r, ok := <-p.responses:
			if !ok {
				return nil, fmt.Errorf("%s ended by itself: %w", p.name, p.err)
			}
			if r.Error != "" {
				return nil, fmt.Errorf("%s: %s", p.name, r.Error)
			}
			responses[i] = r
		case <-ctx.Done():
			return nil, errors.New("interrupted")
		}
	}
	return responses, nil
}

// stop ends all processes, and waits for them.
func (w *workers) stop() {
	var wg sync.WaitGroup
	for _, p := range w.all {
		wg.Go(func() {
			_ = p.stdin.Close()
			_ = p.cmd.Process.Kill() // a worker holds no data
			for range p.responses {  // waits for the end of the process
			}
		})
	}
	wg.Wait()
}
