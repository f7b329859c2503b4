package shop

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
	"github.com/cronce/cronce/lock"
)

// handler serves the sale and the rewards. Done closes their resources.
func (s *Shop) handler(ctx context.Context, log *slog.Logger) (h http.Handler, done func(), err error) {
	options := s.gate
	options.Log, options.Tokens = log, s.Tokens
	sale := stockhttp.NewHandler(s.Sale, options)
	s.served.Store(sale)
	if s.rewards == nil {
		return sale, func() {}, nil
	}
	rewards, done, err := s.rewards(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/families/", rewards)
	mux.Handle("/", sale)
	return mux, done, nil
}

// openRewards returns a function that makes the handler of a shop's rewards; nil without the
// section. It does not connect. Dry, it does not read the token, without which no rewards are
// served.
func openRewards(c *config.Config, client redis.UniversalClient, db *sql.DB, dialect stock.Dialect, dry bool) (func(context.Context, *slog.Logger) (http.Handler, func(), error), error) {
	r := c.Shop.Rewards
	if r == nil {
		return nil, nil
	}
	if r.TokenEnv == "" && r.TokenFile == "" {
		return nil, c.Fault("shop.rewards", "token_env and token_file are both missing, set one of them")
	}
	if dry {
		return nil, nil
	}
	token, err := c.SecretSource("shop.rewards.token", r.TokenFile, r.TokenEnv)
	if err == nil && token().Text() == "" {
		err = c.Fault("shop.rewards.token_env", "names a variable that is empty")
	}
	if err != nil {
		return nil, err
	}
	now := func() string { return token().Text() }
	return func(ctx context.Context, log *slog.Logger) (http.Handler, func(), error) {
		ctx, stop := context.WithTimeout(ctx, firstCompareTime)
		defer stop()
		book, err := reward.Open(ctx, db, dialect)
		if err != nil {
			return nil, nil, fmt.Errorf("shop.rewards: %w", err)
		}
		desk, done, err := NewDesk(c, client, book, log)
		if err != nil {
			return nil, nil, err
		}
		return reward.NewHandler(desk, now, log), done, nil
	}, nil
}

// NewDesk returns the desk at which the shop's rewards are claimed. Done closes its resources.
func NewDesk(c *config.Config, client redis.UniversalClient, book *reward.Book, log *slog.Logger) (desk *reward.Desk, done func(), err error) {
	driver, err := clients.RedisDriver(c, client)
	if err != nil {
		return nil, nil, err
	}
	o := reward.Options{Logger: log}
	if r := c.Shop.Rewards; r != nil {
		o.OfferedOnly = r.OfferedOnly
	}
	desk, err = reward.NewDesk(book, lock.New(driver, c.Name), o)
	return desk, func() { _ = driver.Close() }, err
}
