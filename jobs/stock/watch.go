package stock

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// watchEvery is how often a process compares the store with the book.
const watchEvery = time.Second

// Watch looks each second until ctx ends, and logs when stock is not known (stock
// unknown, an error) and when it is again (stock known): see Sale.Look. After a rebuild it
// logs each order that this process has acknowledged and that is nowhere any more (order
// lost), of the last ten thousand. Between two
// looks a process notices by itself only that the store has lost what it
// had answered to this process. It returns at once without Options.Book. The logger may be nil.
func (s *Sale) Watch(ctx context.Context, log *zap.Logger) {
	if s.options.Book == nil {
		return
	}
	if log == nil {
		log = zap.NewNop()
	}
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	logged := "" // the last line
	for {
		bounded, stop := context.WithTimeout(ctx, askTime)
		err := s.Look(bounded)
		if err == nil {
			if lost := s.logLost(bounded, log); lost != nil && !errors.Is(lost, ErrStockUnknown) && ctx.Err() == nil {
				log.Warn("lost orders not looked for", zap.String("err", lost.Error()))
			}
		}
		stop()
		if ctx.Err() != nil {
			return
		}
		switch {
		case errors.Is(err, ErrStockUnknown) && logged != err.Error():
			logged = err.Error()
			log.Error("stock unknown", zap.String("err", logged))
		case err == nil && logged != "":
			logged = ""
			log.Info("stock known")
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}
