package salecommands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/cmd/shop/internal/shop"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/jobs/stock"
)

// withSale calls f with the sale of a configuration, and gives its error an exit code.
func withSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error { return saleFailed(f(ctx, s)) })
}

// withOpenSale calls f with the sale of a configuration, until a signal ends ctx, and returns its error.
func withOpenSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	file, err := settings.Read(cmd)
	if err != nil {
		return err
	}
	client, err := clients.Redis(&file.Config)
	if err != nil {
		return err
	}
	defer client.Close()
	opened, err := shop.Open(file, client, false)
	if err != nil {
		return err
	}
	defer opened.Close()
	ctx, stop := command.WithSignals(cmd.Context())
	defer stop()
	return whileAnswering(ctx, opened.Ping, func(ctx context.Context) error { return f(ctx, opened.Sale) })
}

const (
	answerTime = 10 * time.Second // bounds each answer of the database to a ping
	askAgain   = time.Second      // between an answer and the next ping
)

// errSilent means that the database did not answer a ping in time.
var errSilent = fmt.Errorf("shop.database: no answer within %v", answerTime)

// whileAnswering calls f, and ends its context once the database no longer answers. A server that is stopped keeps its
// connections and does not reply; f has no bound of its own, because a large rebuild takes minutes.
func whileAnswering(ctx context.Context, ping func(context.Context) error, f func(context.Context) error) error {
	if err := answers(ctx, ping); err != nil {
		return exit.Doubt(err)
	}
	watched, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for wait.Sleep(watched, askAgain) == nil {
			if err := answers(watched, ping); errors.Is(err, errSilent) { // f meets any other error itself, or does not
				end(err)
			}
		}
	})
	err := f(watched)
	end(nil)
	watch.Wait()
	if silent := context.Cause(watched); err != nil && errors.Is(silent, errSilent) {
		return exit.Doubt(silent)
	}
	return err
}

// answers fails if the database does not answer ping in time.
func answers(ctx context.Context, ping func(context.Context) error) error {
	limited, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	err := ping(limited)
	switch {
	case err == nil:
		return nil
	case limited.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return fmt.Errorf("shop.database: %w", err)
}

// saleFailed gives an error of a sale its exit code: refused by state, wrong usage, or else doubt.
func saleFailed(err error) error {
	_, field := errors.AsType[*stock.FieldError](err)
	switch {
	case err == nil, exit.HasCode(err):
		return err
	case field:
		return exit.Usage(err)
	}
	if errors.Is(err, stock.ErrForeign) {
		return exit.With(exit.Refused, err)
	}
	return exit.Doubt(err)
}
