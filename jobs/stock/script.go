package stock

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/guard"
)

// The scripts, one file per operation. Its header lists its keys, arguments and answers.
//
//go:embed lua
var lua embed.FS

var (
	// Scripts for buyers and sellers.
	reserveScript = onShelf("order", "reserve")
	payScript     = onShelf("order", "payment", "pay")
	refundScript  = onShelf("order", "payment", "refund")
	returnScript  = onShelf("order", "payment", "return")
	recallScript  = script("recall")
	cancelScript  = onShelf("order", "cancel")

	putScript           = onShelf("put")
	numberScript        = onShelf("guard", "number")
	recordScript        = script("order", "record")
	productScript       = script("product")
	countsScript        = script("counts")
	compareScript       = script("compare")
	seenScript          = onShelf("seen")
	figuresScript       = script("figures")
	compareOrdersScript = script("compare_orders")
	missingScript       = script("order", "missing")

	// Scripts for runs: each compares the run's fence with the highest fence seen.
	overdueScript  = script("guard", "overdue")
	expireScript   = onShelf("guard", "order", "expire")
	takeScript     = script("guard", "take")
	settledScript  = script("guard", "order", "settled")
	stockedScript  = script("guard", "stocked")
	comparedScript = script("guard", "compared")
	haltScript     = script("guard", "halt")

	// Scripts for a rebuild: each names its epoch.
	beginScript      = script("begin")
	clearScript      = script("rebuild", "clear")
	productsScript   = script("rebuild", "products")
	ordersScript     = script("rebuild", "orders")
	referencesScript = script("rebuild", "references")
	buyersScript     = script("rebuild", "buyers")
	openScript       = script("rebuild", "open")
)

// script joins files of lua.
func script(names ...string) *redis.Script { return redis.NewScript(source(names)) }

// onShelf wraps a script, the last name, so that it runs only on a shelf that has everything its
// caller knows of.
func onShelf(names ...string) *redis.Script {
	last := len(names) - 1
	return redis.NewScript(source([]string{"shelf"}) + source(names[:last]) + "local function act()\n" + source(names[last:]) + source([]string{"shelfend"}))
}

func source(names []string) string {
	var b strings.Builder
	for _, name := range names {
		if name == "guard" {
			b.WriteString(guard.Lua())
			continue
		}
		text, err := lua.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a file is missing in this program
		}
		b.Write(text)
	}
	return b.String()
}

// The keys. Counts are fields of hashes, because a script must declare its keys before it knows the
// products of an order.
const (
	keyShelf        = "shelf"         // hash: identity and state of the shelf; see lua/shelf.lua
	keyPut          = "put"           // hash: sku, total that was put in
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
	keyMarks        = "marks"         // string: number of orders that were ever marked as settled
	keyAcknowledged = "acknowledged:" // and epoch:process, string: number of changes acknowledged to a process
	keyAsked        = "asked"         // string: empty, written so that WAIT has something to wait for
	keyOrder        = "order:"        // and the id, string: the record
	keyReference    = "reference:"    // and the reference of a payment, string: the id of its order
	keyFence        = "fence:"        // and the task of a job, string: the highest fence seen
)
