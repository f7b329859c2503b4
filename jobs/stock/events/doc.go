// Package events posts the events of a sale to a webhook.
//
// Each new state of an order is a [stock.Event], written in the transaction that writes the order.
// The job that [Job] returns posts each event at least once, and the events of one order in order. A repeat
// may come after later events of its order, so a receiver remembers the id of each event, or the
// highest seq of each order.
//
//	POST <URL>
//	Content-Type: application/json
//	Idempotency-Key: <id>
//	Cronce-Signature: t=<Unix seconds>,v1=<hex>,v1=<hex>
//
// A v1 is the HMAC-SHA256 of t, a dot and the body, by one of the secrets: see [Sign].
//
// Any status of 200 to 299 accepts an event. Any other status, a redirect and a missing reply are
// failures: the webhook gets the event again after a second, doubling up to a minute, or after the
// time in Retry-After. No event is dropped while the webhook accepts none. An event that failed
// eight times, while the webhook accepted later ones, is skipped: it delays the others by about two
// minutes. The log names it, and [stock.EventCursor] counts it.
package events
