package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// agreement is how long the record stays after the last start that agreed with it:
// as long as the series do.
const agreement = 90 * 24 * time.Hour

// Agree makes sure that the processes of a namespace look for the same series and
// locks at the same keys. The first to call it records Options.Shards and
// Options.GroupBy; to those with others it is a *RefusedError from then on, for 90
// days after the last that agreed: they would be granted what somebody else has.
// So is a server that does not answer, or may not write. Call it once, before the Driver is used, as
// [Driver.Fit] does; only those who call it are compared.
func (d *Driver) Agree(ctx context.Context) error {
	key := d.keys.shards[0] + "layout"
	own := fmt.Sprintf("shards %d, group by %q", len(d.keys.shards), d.keys.group)
	reply, err := d.run(ctx, d.scripts.agree, []string{key}, []any{own, agreement.Milliseconds()})
	if err != nil {
		return refusal([]driver.Finding{unrecorded(d.client, err)})
	}
	if found := fmt.Sprint(reply); found != own {
		return refusal([]driver.Finding{{Level: driver.LevelRefuse, Topic: driver.TopicLayout, Server: address(d.client),
			Text: fmt.Sprintf("the namespace is laid out with %s, not with %s", found, own),
			Fix:  "use the same options in all processes of the namespace; to change them stop all, delete the key " + key + ", start all"}})
	}
	return nil
}

// unrecorded is doubt: the server, or an operator, may make it go on.
func unrecorded(client redis.UniversalClient, err error) driver.Finding {
	if _, answered := errors.AsType[redis.Error](err); answered {
		return driver.Finding{Level: driver.LevelRefuse, Topic: driver.TopicConnection, Server: address(client),
			Text: "the server did not record how the namespace is laid out: " + err.Error(),
			Fix:  "let its user do what AccessRules names, and see that it has memory", Err: err}
	}
	return unreachable(client, err)
}
