package lock

import (
	"context"
	"fmt"
	"time"
)

// Fitness is a Driver that knows whether its store, and the way to it, can keep
// what is promised: a server that forgets keys cannot, nor can a client that asks
// again on its own. [Open] and a scheduler ask before they use the store.
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

// maxNode bounds, in bytes, the name that owners begin with: they have more to say.
const maxNode = MaxKey / 2

func checkNode(node string) error {
	if checkWord("node", node) != nil || len(node) > maxNode {
		return refuse("node", quote(node), "0 to 100 bytes of printable UTF-8 without | and ;")
	}
	return nil
}

func (r Risk) String() string {
	text := r.Topic + ": " + r.Text
	if r.Server != "" {
		text = r.Server + ": " + text
	}
	if r.Fix != "" {
		text += ": " + r.Fix
	}
	return text
}

// openTime is for how long Open asks a store, which may need several requests.
const openTime = 10 * time.Second

// Open returns a Locker on a store that is fit, for programs; see [New] for node. It
// asks a store that is [Fitness] once, until ctx ends or for 10 seconds, and nothing
// of any other store. The risks are those at which the store can be used: log them. An
// error that is [ErrUnfit] refuses the store, and says what to change; an
// *ArgumentError refuses node; any other error is doubt, in which case Open may be
// called again. Open starts nothing.
func Open(ctx context.Context, d Driver, node string) (*Locker, []Risk, error) {
	if err := checkNode(node); err != nil {
		return nil, nil, err
	}
	store, knows := d.(Fitness)
	if !knows {
		return New(d, node), nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, openTime)
	defer stop()
	risks, err := store.Fit(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("lock: open: %w", err)
	}
	return New(d, node), risks, nil
}

// Namespaced is a Driver that several applications can use, each under a name of
// its own.
type Namespaced interface {
	// Namespace returns that name. It never changes, and is not empty.
	Namespace() string
}
