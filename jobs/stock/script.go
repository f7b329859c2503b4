package stock

import (
	_ "embed" // the scripts
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/guard"
)

// One script per operation. Its header lists its keys, arguments and answers.
var (
	//go:embed lua/order.lua
	orderLua string
	//go:embed lua/record.lua
	recordLua string
	//go:embed lua/reserve.lua
	reserveLua string
	//go:embed lua/pay.lua
	payLua string
	//go:embed lua/payment.lua
	paymentLua string
	//go:embed lua/begin_payment.lua
	beginPaymentLua string
	//go:embed lua/refund.lua
	refundLua string
	//go:embed lua/return.lua
	returnLua string
	//go:embed lua/recall.lua
	recallLua string
	//go:embed lua/references.lua
	referencesLua string
	//go:embed lua/cancel.lua
	cancelLua string
	//go:embed lua/put.lua
	putLua string
	//go:embed lua/putin.lua
	putInLua string
	//go:embed lua/version.lua
	versionLua string
	//go:embed lua/delete.lua
	deleteLua string
	//go:embed lua/offer.lua
	offerLua string
	//go:embed lua/product.lua
	productLua string
	//go:embed lua/complete.lua
	completeLua string
	//go:embed lua/walked.lua
	walkedLua string
	//go:embed lua/page.lua
	pageLua string
	//go:embed lua/overdue.lua
	overdueLua string
	//go:embed lua/expire.lua
	expireLua string
	//go:embed lua/take.lua
	takeLua string
	//go:embed lua/settled.lua
	settledLua string
	//go:embed lua/stocked.lua
	stockedLua string
	//go:embed lua/counts.lua
	countsLua string
	//go:embed lua/shelf.lua
	shelfLua string
	//go:embed lua/shelfend.lua
	shelfEndLua string
	//go:embed lua/compare.lua
	compareLua string
	//go:embed lua/mark.lua
	markLua string
	//go:embed lua/missing.lua
	missingLua string
	//go:embed lua/compare_orders.lua
	compareOrdersLua string
	//go:embed lua/close.lua
	closeLua string
	//go:embed lua/halt.lua
	haltLua string
	//go:embed lua/begin.lua
	beginLua string
	//go:embed lua/rebuild.lua
	rebuildLua string
	//go:embed lua/clear.lua
	clearLua string
	//go:embed lua/products.lua
	productsLua string
	//go:embed lua/orders.lua
	ordersLua string
	//go:embed lua/figures.lua
	figuresLua string
	//go:embed lua/buyers.lua
	buyersLua string
	//go:embed lua/open.lua
	openLua string

	// Scripts for buyers and sellers.
	reserveScript = onShelf(reserveLua, orderLua)
	payScript     = onShelf(payLua, orderLua, paymentLua)
	refundScript  = onShelf(refundLua, orderLua, paymentLua)
	returnScript  = onShelf(returnLua, orderLua, paymentLua)
	recallScript  = redis.NewScript(recallLua)
	cancelScript  = onShelf(cancelLua, orderLua)

	beginPaymentScript = onShelf(beginPaymentLua, orderLua)

	putScript           = onShelf(putLua, versionLua)
	offerScript         = onShelf(offerLua, versionLua)
	deleteScript        = onShelf(deleteLua, versionLua)
	putInScript         = onShelf(putInLua)
	recordScript        = redis.NewScript(orderLua + recordLua)
	productScript       = redis.NewScript(productLua)
	pageScript          = redis.NewScript(completeLua + pageLua)
	countsScript        = redis.NewScript(countsLua)
	compareScript       = redis.NewScript(compareLua)
	figuresScript       = redis.NewScript(figuresLua)
	compareOrdersScript = redis.NewScript(compareOrdersLua)
	closeScript         = redis.NewScript(closeLua)
	missingScript       = redis.NewScript(orderLua + missingLua)

	// Scripts for runs: each compares the run's fence with the highest fence seen.
	overdueScript = redis.NewScript(guard.Lua() + overdueLua)
	expireScript  = onShelf(expireLua, guard.Lua(), orderLua)
	takeScript    = redis.NewScript(guard.Lua() + takeLua)
	settledScript = redis.NewScript(guard.Lua() + orderLua + settledLua)
	stockedScript = redis.NewScript(guard.Lua() + stockedLua)
	walkedScript  = redis.NewScript(guard.Lua() + walkedLua)
	haltScript    = redis.NewScript(guard.Lua() + haltLua)
	markScript    = redis.NewScript(guard.Lua() + markLua)

	// Scripts for a rebuild: each names its epoch.
	beginScript      = redis.NewScript(beginLua)
	clearScript      = redis.NewScript(rebuildLua + clearLua)
	productsScript   = redis.NewScript(rebuildLua + productsLua)
	ordersScript     = redis.NewScript(rebuildLua + ordersLua)
	referencesScript = redis.NewScript(rebuildLua + referencesLua)
	buyersScript     = redis.NewScript(rebuildLua + buyersLua)
	openScript       = redis.NewScript(rebuildLua + openLua)
)

// onShelf wraps a script so that it runs only on a shelf that has everything its caller knows of.
func onShelf(body string, libraries ...string) *redis.Script {
	return redis.NewScript(shelfLua + strings.Join(libraries, "") + "local function act()\n" + body + shelfEndLua)
}

// The keys. Counts are fields of hashes, because a script must declare its keys before it knows the
// products of an order.
const (
	keyShelf        = "shelf"         // hash: identity and state of the shelf; see lua/shelf.lua
	keyPut          = "put"           // hash: sku, total that was put in
	keyNames        = "names"         // set: the skus of put with score 0, hence in alphabetical order
	keyHalted       = "halted"        // hash: sku of a product that is not sold because its counts do not balance
	keyStock        = "stock"         // hash: sku, quantity that can be reserved
	keyReserved     = "reserved"      // hash: sku, quantity that is reserved and not paid
	keySold         = "sold"          // hash: sku, quantity that is paid
	keyFresh        = "fresh"         // set: ids of reserved orders that the database lacks, by deadline, Unix ms; none is being paid
	keyDue          = "due"           // set: ids of other open orders, by deadline, Unix ms
	keyUnsettled    = "unsettled"     // set: ids of orders not in fresh whose state the database lacks, by the time of the change, Unix ms
	keyOffer        = "offer"         // hash: sku, offer: see Offer.line
	keyBought       = "bought"        // hash: buyer:sku, quantity of the buyer's open and paid orders
	keyRestocked    = "restocked"     // hash: sku, total and offer that the database lacks
	keyWalk         = "walk"          // hash: position of the runs of reconcile; see walk
	keyMarks        = "marks"         // string: number of orders that were ever marked as settled
	keyAcknowledged = "acknowledged:" // and epoch:process, string: number of changes acknowledged to a process
	keyAsked        = "asked"         // string: empty, written so that WAIT has something to wait for
	keyOrder        = "order:"        // and the id, string: the record
	keyReference    = "reference:"    // and the reference of a payment, string: the id of its order
	keyFence        = "fence:"        // and the task of a job, string: the highest fence seen
)
