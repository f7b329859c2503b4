package stock

import (
	"context"

	"go.uber.org/zap"
)

// Release is one run of releaseExpired, with a lease and steps that the test
// decides about.
func Release(ctx context.Context, s *Sale, fence int64, step func(string) error) error {
	return (&releaser{sale: s, work: testWork(fence, step)}).run(ctx)
}

func testWork(fence int64, step func(string) error) work {
	return work{fence: fence, check: func() error { return nil }, log: zap.NewNop(), step: step}
}
