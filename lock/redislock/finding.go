package redislock

// A Level is how bad a [Finding] is.
type Level uint8

// The levels of findings.
const (
	LevelOK     Level = iota // as it should be
	LevelWarn                // works, with a risk that the finding names
	LevelRefuse              // must not be used
)

var levels = [...]string{"ok", "warn", "refuse"}

// String returns ok, warn or refuse.
func (l Level) String() string { return levels[min(l, LevelRefuse)] }

// The topics that a program finds among others: whether the server answers, whether keys can vanish, whether it has memory for
// writes, and whether data outlives the process.
const (
	TopicConnection  = "connection"
	TopicEviction    = "eviction"
	TopicMemory      = "memory"
	TopicPersistence = "persistence"
)

const (
	topicClient   = "client"   // the client's options
	topicCommands = "commands" // whether the server knows all commands that are needed
	topicVersion  = "version"  // whether the server's version has all that is needed
	topicRole     = "role"     // a master, of a kind that the client is for
	topicLayout   = "layout"   // whether all processes lay the namespace out alike
)

// A Finding is the result of an examination of a server or of the client, about one topic.
type Finding struct {
	Level  Level
	Topic  string
	Server string // the server; "" if the finding is about the client
	Text   string // the result
	Fix    string // how to mend it; "" if there is nothing to mend
	Err    error  // the error of the server or the network; nil: the finding is no failed request
}
