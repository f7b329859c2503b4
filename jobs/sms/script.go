package sms

import (
	"context"
	_ "embed" // the scripts
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisretry"
)

// One script per operation. The header of each script documents its arguments and its reply.
var (
	//go:embed lua/accept.lua
	acceptLua string
	//go:embed lua/take.lua
	takeLua string
	//go:embed lua/mark.lua
	markLua string
	//go:embed lua/pause.lua
	pauseLua string
	//go:embed lua/paused.lua
	pausedLua string
	//go:embed lua/retry.lua
	retryLua string
	//go:embed lua/aside.lua
	asideLua string
	//go:embed lua/get.lua
	getLua string
	//go:embed lua/list.lua
	listLua string
	//go:embed lua/scan.lua
	scanLua string
	//go:embed lua/forget.lua
	forgetLua string
	//go:embed lua/receipt.lua
	receiptLua string
	//go:embed lua/counts.lua
	countsLua string
	//go:embed lua/trim.lua
	trimLua string

	acceptScript  = redis.NewScript(acceptLua)
	takeScript    = redis.NewScript(takeLua)
	markScript    = redis.NewScript(markLua)
	pauseScript   = redis.NewScript(pauseLua)
	pausedScript  = redis.NewScript(pausedLua)
	retryScript   = redis.NewScript(retryLua)
	asideScript   = redis.NewScript(asideLua)
	getScript     = redis.NewScript(getLua)
	listScript    = redis.NewScript(listLua)
	scanScript    = redis.NewScript(scanLua)
	forgetScript  = redis.NewScript(forgetLua)
	receiptScript = redis.NewScript(receiptLua)
	countsScript  = redis.NewScript(countsLua)
	trimScript    = redis.NewScript(trimLua)
)

// The keys. Messages are fields of two hashes, because a script must name its
// keys before it knows which messages are due.
const (
	keyBody        = "body"        // hash: id, the content of the message; never changes
	keyStatus      = "status"      // hash: id, the status line
	keyQueued      = "queued"      // set: id, when it is due, Unix ms
	keyRetry       = "retry"       // set: id, when it is due, Unix ms: of messages that were refused before
	keyTaken       = "taken"       // set: id, the fence of the run that has it
	keySent        = "sent"        // set: id, since when, Unix ms
	keyFailed      = "failed"      // set: id, since when, Unix ms
	keyBroken      = "broken"      // set: id, since when, Unix ms: put aside, as they cannot be read
	keyExpired     = "expired"     // set: id, since when, Unix ms
	keyRepeated    = "repeated"    // set: the ids in sent that may have been sent more than once
	keyDelivered   = "delivered"   // set: id, since when, Unix ms: by their receipts
	keyUndelivered = "undelivered" // set: id, since when, Unix ms: by their receipts
	keyFence       = "fence"       // hash: the highest fence seen and its run, and the gateway's pause
)

func (o *Outbox) keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = o.prefix + name
	}
	return keys
}

// askTime is how long a run repeats a request to the outbox without a reply.
const askTime = 5 * time.Second

// runScript sends a run's script until the store replies. Every script of a run may be sent twice.
func (o *Outbox) runScript(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, error) {
	return redisretry.Do(ctx, redisretry.Policy{First: firstPause, Total: askTime}, func() ([]string, error) {
		return script.Run(ctx, o.client, keys, args...).StringSlice()
	})
}
