package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// MemberEnv is the environment variable that turns a test binary into a member. Its TestMain must pass
// the value to [RunMember].
const MemberEnv = "CRONCE_PROOF_MEMBER"

// Member is the program that starts this test binary as a member.
var Member = Program{Name: "member", command: again}

func again(n Node, _ string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("proof: member: %w", err)
	}
	text, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("proof: member: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), MemberEnv+"="+string(text))
	return cmd, nil
}

// RunMember runs the node that text describes until ctx ends. It logs to out. die must end the
// process.
func RunMember(ctx context.Context, text string, out zapcore.WriteSyncer, die func(error)) error {
	redis.SetLogger(silence{})     // its messages also come back as errors
	_ = mysql.SetLogger(silence{}) // so do the messages of this driver
	var n Node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return fmt.Errorf("proof: member: %w", err)
	}
	m := &member{Node: n, witness: NewWitness(n.Witness, os.Getpid()), die: die,
		log: slog.New(zapslog.NewHandler(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(out), n.level()),
			zapslog.AddStacktraceAt(math.MaxInt)))}
	defer m.witness.Close()
	run := m.run
	if n.Recipe != Lease {
		run = m.usual
	}
	err := run(ctx)
	if err != nil {
		m.log.Error("member failed", slog.Any("error", err))
	}
	return err
}

type member struct {
	Node
	witness *Witness
	log     *slog.Logger
	die     func(error)
}

// run runs the node by its recipe.
func (m *member) run(ctx context.Context) error {
	// A member that receives a signal while it opens its store ends in order.
	opening, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	store, done, err := openStore(opening, m.Store, m.Namespace)
	if err != nil {
		return err
	}
	defer done()
	jobs := make([]scheduler.Job, len(m.Jobs))
	for i, j := range m.Jobs {
		jobs[i] = j.scheduled(newWorker(j, m.witness, m.die).run)
	}
	node, err := scheduler.New(scheduler.Config{
		Name: m.Name, Namespace: m.Namespace, Store: store, Jobs: jobs, Logger: m.log,
		Grace: m.Grace, CancelGrace: m.CancelGrace, StoreTimeout: m.Timeout, ClockOffset: m.Offset,
	})
	if err != nil {
		return err
	}
	return node.Run(ctx)
}

// silence discards the messages of clients.
type silence struct{}

func (silence) Print(...any) {}

func (silence) Printf(context.Context, string, ...any) {}

// NewClient returns a client with the options of the real binary: it does not repeat requests, and
// its requests end with their context.
func NewClient(addr string) redis.UniversalClient {
	o := &redis.UniversalOptions{Addrs: []string{addr}, DialTimeout: time.Second}
	if servers, found := strings.CutPrefix(addr, sentinel); found {
		o.Addrs, o.MasterName = strings.Split(servers, ","), redisserver.MasterName
	}
	if servers, found := strings.CutPrefix(addr, cluster); found {
		o.Addrs, o.IsClusterMode = strings.Split(servers, ","), true
	}
	redislock.Harden(o)
	return redis.NewUniversalClient(o)
}
