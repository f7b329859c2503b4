package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/cronce/cronce/cmd/cronce/internal/oversell"
)

// A crew is the processes that the buyers come to.
type crew struct {
	stock   int
	members []*member
}

// A member is one process of this binary: told what to do on its standard input,
// it answers on its standard output.
type member struct {
	name    string
	cmd     *exec.Cmd
	tell    *json.Encoder
	stdin   io.Closer
	replies chan reply // closed when the process has ended
	err     error      // how it ended, then
}

// An order is what a member is told: first a plan, and its share of the buyers;
// then, for each sale, a strategy, and when all are ready, to let the buyers in.
type order struct {
	Plan        *plan  `json:",omitempty"`
	First, Last int    // buyers [First, Last)
	Strategy    string `json:",omitempty"`
	LetIn       bool   `json:",omitempty"`
}

// A reply is the answer to an order: what went wrong, what the buyers were told,
// or neither: ready.
type reply struct {
	Error   string            `json:",omitempty"`
	Answers *oversell.Answers `json:",omitempty"`
}

// hire starts the processes and waits until they are connected.
func hire(ctx context.Context, r *rig, stock, processes int, stderr io.Writer) (*crew, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("oversell: find this binary: %w", err)
	}
	c := &crew{stock: stock}
	for i := range processes {
		m := &member{name: fmt.Sprintf("process %d", i+1), cmd: exec.Command(self, "oversell", "--worker"), replies: make(chan reply)}
		m.cmd.Env = os.Environ()
		m.cmd.Stderr = stderr
		m.cmd.SysProcAttr = apart()
		if err := m.start(); err != nil {
			c.dismiss()
			return nil, fmt.Errorf("oversell: start %s: %w", m.name, err)
		}
		c.members = append(c.members, m)
	}
	_, err = c.each(ctx, func(i int) order {
		share := func(n int) int { return r.plan.Buyers * n / processes }
		return order{Plan: &r.plan, First: share(i), Last: share(i + 1)}
	})
	if err != nil {
		c.dismiss()
		return nil, fmt.Errorf("oversell: %w", err)
	}
	return c, nil
}

func (m *member) start() error {
	stdin, errIn := m.cmd.StdinPipe()
	stdout, errOut := m.cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return err
	}
	m.stdin, m.tell = stdin, json.NewEncoder(stdin)
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go m.listen(json.NewDecoder(stdout)) // ends with the process, which dismiss waits for
	return nil
}

// listen hands replies on until the process ends.
func (m *member) listen(stdout *json.Decoder) {
	defer close(m.replies)
	for {
		var r reply
		if err := stdout.Decode(&r); err != nil {
			break
		}
		m.replies <- r
	}
	if m.err = m.cmd.Wait(); m.err == nil {
		m.err = errors.New("it stopped")
	}
}

// sell lets the buyers in at a strategy, everywhere at once.
func (c *crew) sell(ctx context.Context, strategy string) ([]oversell.Answers, error) {
	if _, err := c.each(ctx, func(int) order { return order{Strategy: strategy} }); err != nil {
		return nil, err
	}
	replies, err := c.each(ctx, func(int) order { return order{LetIn: true} })
	if err != nil {
		return nil, err
	}
	var answers []oversell.Answers
	for i, r := range replies {
		if r.Answers == nil {
			return nil, fmt.Errorf("%s told no answers", c.members[i].name)
		}
		answers = append(answers, *r.Answers)
	}
	return answers, nil
}

// each gives every member an order, and waits for the replies of all.
func (c *crew) each(ctx context.Context, give func(i int) order) ([]reply, error) {
	for i, m := range c.members {
		if err := m.tell.Encode(give(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	replies := make([]reply, len(c.members))
	for i, m := range c.members {
		select {
		case r, ok := <-m.replies:
			if !ok {
				return nil, fmt.Errorf("%s ended by itself: %w", m.name, m.err)
			}
			if r.Error != "" {
				return nil, fmt.Errorf("%s: %s", m.name, r.Error)
			}
			replies[i] = r
		case <-ctx.Done():
			return nil, errors.New("interrupted")
		}
	}
	return replies, nil
}

// dismiss ends all processes, and waits for them.
func (c *crew) dismiss() {
	var wg sync.WaitGroup
	for _, m := range c.members {
		wg.Go(func() {
			_ = m.stdin.Close()
			_ = m.cmd.Process.Kill() // they hold nothing that matters
			for range m.replies {    // until it has ended
			}
		})
	}
	wg.Wait()
}
