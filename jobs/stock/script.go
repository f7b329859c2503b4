package stock

import (
	_ "embed" // the scripts

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
)

// One script per operation. Each says in its header what it wants and returns.
var (
	//go:embed lua/order.lua
	orderLua string
	//go:embed lua/reserve.lua
	reserveLua string
	//go:embed lua/pay.lua
	payLua string
	//go:embed lua/cancel.lua
	cancelLua string
	//go:embed lua/put.lua
	putLua string
	//go:embed lua/product.lua
	productLua string
	//go:embed lua/overdue.lua
	overdueLua string
	//go:embed lua/expire.lua
	expireLua string

	// For buyers and sellers.
	reserveScript = redis.NewScript(reserveLua)
	payScript     = redis.NewScript(orderLua + payLua)
	cancelScript  = redis.NewScript(orderLua + cancelLua)
	putScript     = redis.NewScript(putLua)
	productScript = redis.NewScript(productLua)

	// For runs: each compares the run's fence with the highest that was seen.
	overdueScript = redis.NewScript(redislock.GuardLua() + overdueLua)
	expireScript  = redis.NewScript(redislock.GuardLua() + orderLua + expireLua)
)

// The keys. Counts are fields of four hashes, because a script must name its keys
// before it knows which products an order has.
const (
	keyPut       = "put"       // hash: sku, what was put in, in all
	keyStock     = "stock"     // hash: sku, what can be reserved
	keyReserved  = "reserved"  // hash: sku, what is reserved and not paid
	keySold      = "sold"      // hash: sku, what is paid
	keyDue       = "due"       // set: ids of reserved orders, until when they may be paid, Unix ms
	keyUnsettled = "unsettled" // set: ids of orders whose state the database does not have, since when, Unix ms
	keyRestocked = "restocked" // hash: sku, the total that the database does not have
	keySettled   = "settled"   // hash: sku, what paid orders took that the database has
	keyRecent    = "recent"    // set: ids of settled orders that were not looked up since, settled when, Unix ms
	keyDisputed  = "disputed"  // hash: id, what the database has instead of the order
	keyOrder     = "order:"    // and the id, string: the record
	keyFence     = "fence:"    // and what the job does, string: the highest fence seen
)
