package driver

// A Level says how bad a [Finding] is.
type Level uint8

// The levels of findings.
const (
	LevelOK     Level = iota // as it should be
	LevelWarn                // works, with a risk that the finding names
	LevelRefuse              // must not be used
)

var levels = [...]string{"ok", "warn", "refuse"}

// String is ok, warn or refuse.
func (l Level) String() string { return levels[min(l, LevelRefuse)] }

// The topics of findings about a store. Programs may have more.
const (
	TopicClient      = "client"      // the client's options
	TopicConnection  = "connection"  // whether the server answers
	TopicCommands    = "commands"    // whether the server knows all that are needed
	TopicVersion     = "version"     // whether the server's version has what is needed
	TopicRole        = "role"        // a master, of a kind that the client is for
	TopicEviction    = "eviction"    // whether keys can vanish
	TopicPersistence = "persistence" // whether data outlives the process
	TopicLayout      = "layout"      // whether all processes lay the namespace out alike
)

// A Finding is what an examination of a store found out about one topic.
type Finding struct {
	Level  Level
	Topic  string
	Server string // which server; "" if it is about the client
	Text   string // what was found
	Fix    string // what to do about it; "" if nothing
	Err    error  // what the server, or the network, answered; nil: the finding is no failed request
}
