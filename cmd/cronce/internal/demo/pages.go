package demo

import "context"

// servePages shows the cluster in a browser if requested, and logs the address. Stop ends that, and
// returns the error if the pages ended earlier.
func (s *store) servePages(ctx context.Context, log *logView) (stop func() error, err error) {
	if s.Pages == nil {
		return func() error { return nil }, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	opened, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- s.Pages(ctx, func(url string) { opened <- url }) }()
	select {
	case url := <-opened:
		log.addPages(url)
	case err := <-ended:
		cancel()
		return nil, err
	}
	return func() error {
		cancel()
		return <-ended
	}, nil
}
