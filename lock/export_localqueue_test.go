package lock

// Behind returns how many callers wait in the local queue of a key without the turn.
func (l *Locker) Behind(key string) int {
	l.local.mu.Lock()
	defer l.local.mu.Unlock()
	if line := l.local.lines[key]; line != nil {
		line.mu.Lock()
		defer line.mu.Unlock()
		return line.background.Len()
	}
	return 0
}

// Lines is how many lines there are.
func (l *Locker) Lines() int {
	l.local.mu.Lock()
	defer l.local.mu.Unlock()
	return len(l.local.lines)
}

// Stall keeps the line of a key busy until the returned function is called.
func (l *Locker) Stall(key string) (goOn func()) {
	l.local.mu.Lock()
	defer l.local.mu.Unlock()
	line := l.local.lines[key]
	line.mu.Lock()
	return line.mu.Unlock
}
