package oversell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// The strategy zookeeper is [Lock] with the lock in ZooKeeper and the stock in Redis: two
// independent stores, connected by the fence.

func (e *Env) openZooKeeper() (Strategy, func(), error) {
	d, err := zklock.New(e.ZooKeeper, zklock.Options{Namespace: e.Run})
	if err != nil {
		return nil, nil, err
	}
	return e.lockOn(d, "zookeeper", e.redisShelf("zookeeper")), func() { _ = d.Close() }, nil
}

// zooPatience bounds the wait for a server's first answer.
const zooPatience = 10 * time.Second

// Ping checks that ZooKeeper answers, if the run uses it. Otherwise its client would retry for as long as
// buyers wait.
func (e *Env) Ping(ctx context.Context) error {
	if len(e.ZooKeeper) == 0 {
		return nil
	}
	return e.askZooKeeper(ctx)
}

// askZooKeeper checks that a server answers.
func (e *Env) askZooKeeper(ctx context.Context) error {
	d, err := zklock.New(e.ZooKeeper, zklock.Options{Namespace: e.Run})
	if err != nil {
		return err
	}
	defer d.Close()
	ctx, stop := context.WithTimeout(ctx, zooPatience)
	defer stop()
	if _, err := (driver.Front{Driver: d}).Inspect(ctx, "zookeeper"); err != nil {
		return fmt.Errorf("ZooKeeper %s: %w", strings.Join(e.ZooKeeper, ","), err)
	}
	return nil
}

// forgetZooKeeper removes the nodes of this run.
func (e *Env) forgetZooKeeper(ctx context.Context) error {
	c, _, err := zk.Connect(e.ZooKeeper, zooPatience, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, c.Close)() // ends the waits for a server
	defer c.Close()
	return removeNodes(c, "/"+e.Run)
}

func removeNodes(c *zk.Conn, path string) error {
	children, _, err := c.Children(path)
	if err != nil {
		return fmt.Errorf("children of %s: %w", path, err)
	}
	for _, child := range children {
		if err := removeNodes(c, path+"/"+child); err != nil {
			return err
		}
	}
	if err := c.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

// silent drops the client's log.
type silent struct{}

func (silent) Printf(string, ...any) {}
