package stock

import (
	"context"
	"fmt"

	"go.uber.org/zap"
)

// names gives each product its name in the list of products. A version that keeps none, in a rolling update, may
// have left names of products that are gone, as many as are missing: counting alone does not find those.
func (r *reconciler) names(ctx context.Context) error {
	if err := r.work.may(ctx, "names"); err != nil {
		return err
	}
	all := 0
	for after, more := "", true; more; more = after != "" {
		answer, err := r.sale.fenced(ctx, namesScript, r.sale.keys(keyFence+reconciling, keyNames, keyPut), r.work.fence, after, maxBatch)
		if err == nil && len(answer) != 2 {
			err = strange(answer)
		}
		var removed int64
		if err == nil {
			err = parseNumbers(answer[1:], &removed)
		}
		if err != nil {
			return fmt.Errorf("stock: compare the names of products: %w", err)
		}
		after, all = answer[0], all+int(removed)
	}
	if all > 0 {
		r.work.log.Warn("names of products mended", zap.Int("names", all))
	}
	return nil
}
