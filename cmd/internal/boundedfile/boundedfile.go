// Package boundedfile reads files whose names come from a user. It reads no device, no more than a
// bound, and not for longer than a bound.
package boundedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pipePatience bounds the time for reading a pipe, which may never end.
const pipePatience = 10 * time.Second

// Read reads a regular file, or a pipe that ends within ten seconds, of at most most bytes. Its
// error does not repeat the name, which may be a secret in the wrong place.
func Read(name string, most int64) ([]byte, error) {
	return readWithin(name, most, pipePatience)
}

// ReadNow is Read without the wait for a writer that may never come: it refuses a named pipe. The
// pipe of a shell's <(command) has a writer, and no name of its own.
func ReadNow(name string, most int64) ([]byte, error) {
	if path, err := filepath.EvalSymlinks(name); err == nil && !strings.HasPrefix(path, "/dev/fd/") {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
			return nil, errors.New("is a named pipe, must be a regular file, or the pipe of a command: <(command)")
		}
	}
	return Read(name, most)
}

func readWithin(name string, most int64, patience time.Duration) ([]byte, error) {
	info, err := os.Stat(name) // first, since opening can change a device or block forever
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
	go func() { // ends with the pipe, or with the process: opening a pipe cannot be interrupted
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

// Once reports whether a file can be read only once, like a pipe.
func Once(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular()
}

// WithoutName returns the error of a file operation without the file's name.
func WithoutName(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Kind names the kind of a file that is not regular.
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
