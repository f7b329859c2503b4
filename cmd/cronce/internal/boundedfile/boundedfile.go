// Package boundedfile reads files that a person names: never a device, never more than is
// allowed, and never for ever.
package boundedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// pipePatience is how long a file may take to be read: a pipe may never end.
const pipePatience = 10 * time.Second

// Read reads a file: a regular one, or a pipe that ends, of at most most bytes. It
// waits for a pipe for ten seconds. Its error does not repeat the name, which may be a
// secret in the wrong place.
func Read(name string, most int64) ([]byte, error) {
	return readWithin(name, most, pipePatience)
}

func readWithin(name string, most int64, patience time.Duration) ([]byte, error) {
	info, err := os.Stat(name) // before it is opened, which can change a device, or wait for ever
	switch {
	case err != nil:
		return nil, WithoutName(err)
	case info.Mode()&(os.ModeType&^os.ModeNamedPipe) != 0:
		return nil, fmt.Errorf("is a %s, must be a regular file or a pipe", Kind(info.Mode()))
	case info.Size() > most:
		return nil, fmt.Errorf("is %d bytes long, must be up to %d", info.Size(), most)
	}
	type content struct {
		data []byte
		err  error
	}
	read := make(chan content, 1)
	go func() { // ends with the pipe, or with the process: nothing interrupts the opening of a pipe
		data, err := readAtMost(name, most)
		read <- content{data, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case c := <-read:
		return c.data, c.err
	case <-timer.C:
		return nil, fmt.Errorf("did not end within %v", patience)
	}
}

func readAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, WithoutName(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, WithoutName(err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("is longer than %d bytes", most)
	}
	return data, nil
}

// Once reports whether a file is there that can be read only once, as a pipe.
func Once(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular()
}

// WithoutName returns an error of a file without the file's name.
func WithoutName(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Kind returns the word for what a file is that is not a regular one.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	}
	return "device"
}
