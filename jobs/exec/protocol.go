package exec

// The operations of a request.
const (
	opStart  = "start"
	opExtend = "extend" // the lease was renewed: Term and Kill move
	opStop   = "stop"   // SIGTERM now, SIGKILL at Kill whatever becomes of the lease
	opKill   = "kill"   // SIGKILL now
)

// A request goes from the node to the warden, as one packet. With opStart comes the descriptor of
// the output, and that of the input if Stdin is set.
type request struct {
	Op string `json:"op"`
	ID uint64 `json:"id"` // of a start, and of all that concerns it

	// Of opStart.
	RunID string      `json:"run,omitempty"`  // the value of RunIDEnv, by which stray processes are known
	Path  []byte      `json:"path,omitempty"` // bytes, and so base64: what the system takes need not be UTF-8
	Args  [][]byte    `json:"args,omitempty"`
	Env   [][]byte    `json:"env,omitempty"`
	Dir   []byte      `json:"dir,omitempty"`
	Stdin bool        `json:"stdin,omitempty"`
	Umask *int        `json:"umask,omitempty"`
	User  *credential `json:"user,omitempty"`

	// When the processes get SIGTERM and SIGKILL, ns of CLOCK_BOOTTIME; 0: never. Extend moves them.
	Term int64 `json:"term,omitempty"`
	Kill int64 `json:"kill,omitempty"`
}

type credential struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
}

// A reply answers a start, once, when no process of it is left.
type reply struct {
	ID     uint64 `json:"id"`
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"` // that ended the main process; 0: it exited
	Lease  bool   `json:"lease,omitempty"`  // it was ended because its lease was about to end
	Err    string `json:"err,omitempty"`    // it could not be started
	Died   bool   `json:"-"`                // the warden died, and nobody knows how it ended
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

// maxPacket bounds a request: the kernel takes packets of up to 208 KiB by default.
const maxPacket = 160 << 10
