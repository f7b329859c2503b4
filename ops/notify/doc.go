// Package notify sends requests to programs outside of the cluster when something needs a person.
//
// A webhook gets each episode twice: as a trigger when it has begun, and as a resolve when it is
// over. The requests repeat until they are accepted, so each is delivered at least once. All
// requests of one episode have the same key, whichever replica of the plane sends them, so a
// receiver that combines requests by their key shows one incident. The next episode of the same
// kind and job has that key again, so a receiver opens an incident anew after its resolve.
// The header has no since where the body has none.
//
//	POST <URL>
//	Content-Type: application/json
//	Idempotency-Key: <key>/<action>/<since>
//	Cronce-Signature: t=<Unix seconds>,v1=<hex>
//
//	{"key":"shop/overdue/report","action":"trigger","kind":"overdue",…}
//
// A v1 is the HMAC-SHA256 of t, a dot and the body; the header is missing without a secret.
//
// A heartbeat is a request each minute, for as long as all is decided. It is for a service that
// raises an alarm when the requests stop, as they do when every process of the cluster is dead.
package notify
