package redislock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// outputsStay is how long the outputs of a series are kept after the latest one.
const outputsStay = 90 * 24 * time.Hour

// outputs returns the key of the outputs of a series.
func (d *Driver) outputs(key string) string {
	return d.keys.partitions[d.keys.partition(key)] + "o:" + escape(key)
}

// KeepOutput implements [series.OutputKeeper], with one request.
func (d *Driver) KeepOutput(ctx context.Context, o series.Output) error {
	fence, least, most := o.Signed()
	_, err := d.run(ctx, d.scripts.keepOutput, []string{d.outputs(o.Key)},
		[]any{o.Number, fence, o.Text, series.MaxOutputs, series.OutputBytes, outputsStay.Milliseconds(), least, most})
	if err != nil {
		return fmt.Errorf("redislock: keep output: %w", err)
	}
	return nil
}

// Output implements [series.OutputKeeper].
func (d *Driver) Output(ctx context.Context, key string, number int64) (series.Output, error) {
	values, err := bounded(ctx, d.prompt, func() ([]any, error) {
		return d.client.HMGet(ctx, d.outputs(key), strconv.FormatInt(number, 10)).Result()
	})
	if err != nil {
		return series.Output{}, fmt.Errorf("redislock: output: %w", err)
	}
	kept, is := values[0].(string)
	if !is {
		return series.Output{}, nil
	}
	first, text, _ := strings.Cut(kept, "|")
	fence, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return series.Output{}, fmt.Errorf("redislock: output of %q: %w", key, driver.ErrUnreadable)
	}
	o := series.Output{Key: key, Number: number, Text: series.OutputText(text)}
	o.SetSigned(fence)
	return o, nil
}
