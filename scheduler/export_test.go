package scheduler

// Free returns how many more runs the node has room for.
func (n *Node) Free() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.free
}

// Pending returns how many asks have no verdict.
func (n *Node) Pending() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.agenda.count + len(n.queue)
}
