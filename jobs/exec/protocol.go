package exec

// Operations of a request.
const (
	opStart  = "start"
	opExtend = "extend" // the lease was renewed: Term and Kill move
	opStop   = "stop"   // SIGTERM now, SIGKILL at Kill regardless of the lease
	opKill   = "kill"   // SIGKILL now
)

// A request goes from the node to the warden, as one packet. A packet with opStart carries the
// descriptor of the output and, if Stdin is set, the descriptor of the input.
type request struct {
	Op string `json:"op"`
	ID uint64 `json:"id"` // identifies a start, and all further requests about it

	// Fields of opStart.
	RunID string      `json:"run,omitempty"`  // the value of RunIDEnv, which identifies stray processes
	Path  []byte      `json:"path,omitempty"` // bytes, in base64, because a path need not be valid UTF-8
	Args  [][]byte    `json:"args,omitempty"`
	Env   [][]byte    `json:"env,omitempty"`
	Dir   []byte      `json:"dir,omitempty"`
	Stdin bool        `json:"stdin,omitempty"`
	Umask *int        `json:"umask,omitempty"`
	User  *credential `json:"user,omitempty"`

	// Times at which the processes get SIGTERM and SIGKILL, ns of CLOCK_BOOTTIME; 0: never. Extend
	// changes them.
	Term int64 `json:"term,omitempty"`
	Kill int64 `json:"kill,omitempty"`
}

type credential struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
}

// A reply answers a start, once, when no process of the command is left.
type reply struct {
	ID     uint64 `json:"id"`
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"` // the signal that ended the main process; 0: it exited
	Lease  bool   `json:"lease,omitempty"`  // the warden ended it because its lease was about to end
	Err    string `json:"err,omitempty"`    // why it could not be started
	Died   bool   `json:"-"`                // the warden died, so it is not known how the command ended
}

func toBytes(texts []string) (all [][]byte) {
	for _, t := range texts {
		all = append(all, []byte(t))
	}
	return all
}

func toTexts(all [][]byte) (texts []string) {
	for _, b := range all {
		texts = append(texts, string(b))
	}
	return texts
}

// maxPacket bounds a request: by default the kernel accepts packets of up to 208 KiB.
const maxPacket = 160 << 10
