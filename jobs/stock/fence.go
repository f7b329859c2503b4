package stock

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// What a run does: the fences of one such job do not compare with another's.
const (
	settling    = "settle"
	releasing   = "release"
	reconciling = "reconcile"
	delivering  = "deliver:" // and the name of the target
)

// maxFence is where numbers in Lua stop being exact: in the year 2255, in µs.
const maxFence = 1<<53 - 1

// maxBatch is how many orders one script touches at most: it keeps every script
// below a few milliseconds.
const maxBatch = 500

// fenced asks a script of a run, whose first argument is the fence, and returns
// what follows the word ok.
func (s *Sale) fenced(ctx context.Context, script *redis.Script, keys []string, fence int64, args ...any) ([]string, error) {
	if fence < 1 || fence > maxFence {
		return nil, &FieldError{"fence", strconv.FormatInt(fence, 10), "1 to 2^53 - 1"}
	}
	answer, err := s.ask(ctx, script, keys, append([]any{fence}, args...)...)
	switch {
	case err != nil:
		return nil, err
	case len(answer) > 0 && answer[0] == "ok":
		return answer[1:], nil
	case is(answer, "shelf", 2):
		return nil, closedShelf(answer[1])
	case len(answer) >= 2 && answer[0] == "fenced":
		return nil, fmt.Errorf("fence %d, the sale has seen %s: %w", fence, answer[1], ErrFenced)
	}
	return nil, strange(answer)
}
