package sqllock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/cronce/cronce/lock/series"
)

// KeepOutput stores the output of a run, in a transaction of up to four statements.
func (d *Driver) KeepOutput(ctx context.Context, o series.Output) error {
	_, err := step(ctx, d, func(s session) (none, error) { return none{}, d.keepOutput(ctx, s, &o) })
	return failed("keep output", err)
}

func (d *Driver) keepOutput(ctx context.Context, s session, o *series.Output) error {
	if _, err := exec(ctx, s, d.texts.insertOutput, d.ns, o.Key, o.Number, []byte{}); err != nil {
		return err
	}
	fence, least, most := o.Signed()
	if _, err := exec(ctx, s, d.texts.putOutput, fence, []byte(o.Text), d.ns, o.Key, o.Number, least, most); err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, d.texts.outputSizes, d.ns, o.Key)
	if err != nil {
		return err
	}
	defer rows.Close()
	var numbers []int64
	var sizes []int
	for rows.Next() {
		var number int64
		var size int
		if err := rows.Scan(&number, &size); err != nil {
			return err
		}
		numbers, sizes = append(numbers, number), append(sizes, size)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n := series.KeptOutputs(sizes); n < len(numbers) {
		_, err = exec(ctx, s, d.texts.cutOutputs, d.ns, o.Key, numbers[n])
	}
	return err
}

// Output returns the output of a number. It takes one statement.
func (d *Driver) Output(ctx context.Context, key string, number int64) (series.Output, error) {
	o, err := withSession(ctx, d, func(s session) (series.Output, error) {
		o := series.Output{Key: key, Number: number}
		var fence int64
		var text []byte
		err := s.QueryRowContext(ctx, d.texts.output, d.ns, key, number).Scan(&fence, &text)
		if errors.Is(err, sql.ErrNoRows) {
			return series.Output{}, nil
		}
		o.SetSigned(fence)
		o.Text = series.OutputText(string(text))
		return o, err
	})
	return o, failed("output", err)
}
