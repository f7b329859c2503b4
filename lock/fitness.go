package lock

import "context"

// Fitness is a Driver that knows whether its store, and the way to it, can keep
// what is promised: a server that forgets keys cannot, nor can a client that asks
// again on its own. A scheduler asks before it uses the store.
type Fitness interface {
	// Fit asks the store. An error that is [ErrUnfit] refuses it, and asking again
	// is of no use before somebody has changed something; any other is doubt. Without
	// an error the store can be used, at the risks that are returned.
	Fit(ctx context.Context) ([]Risk, error)
}

// A Risk is what may break a promise one day, and does not keep a store from use.
type Risk struct {
	Topic  string // what it is about, one word
	Server string // which server; "" if it is about none
	Text   string // what was found
	Fix    string // what to do about it
}

// Namespaced is a Driver that several applications can use, each under a name of
// its own.
type Namespaced interface {
	// Namespace returns that name. It never changes, and is not empty.
	Namespace() string
}
