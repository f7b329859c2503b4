package appendlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of the part of a command that is kept. Longer arguments are skipped.
const (
	longestText = 1 << 20 // bytes of an argument; records of orders are shorter
	longestArgs = 16 << 20
	mostArgs    = 1 << 20
)

// commands parses the commands of an append log in the protocol of Redis, such as
// *2\r\n$3\r\nDEL\r\n$1\r\na\r\n. Lines that begin with # are annotations.
type commands struct {
	r      *bufio.Reader
	offset int64 // number of bytes read
	began  int64 // offset of the last command
}

// next returns a command with at least one argument. It returns io.EOF at the end, and an error
// that wraps io.ErrUnexpectedEOF in the middle of a command. An argument longer than longestText is
// returned empty. Arguments longer than longestArgs in total are an error.
func (c *commands) next() ([]string, error) {
	for {
		c.began = c.offset
		head, err := c.line()
		switch {
		case err != nil && c.offset == c.began && errors.Is(err, io.ErrUnexpectedEOF):
			return nil, io.EOF
		case err != nil:
			return nil, err
		case strings.HasPrefix(head, "#"):
			continue
		}
		n, err := c.count(head, '*', 1, mostArgs)
		if err != nil {
			return nil, err
		}
		return c.arguments(n)
	}
}

func (c *commands) arguments(n int64) ([]string, error) {
	args := make([]string, 0, min(n, 16))
	var size int64
	for range n {
		head, err := c.line()
		if err != nil {
			return nil, err
		}
		length, err := c.count(head, '$', 0, 512<<20)
		if err != nil {
			return nil, err
		}
		kept := length
		if length > longestText {
			kept = 0
		}
		if size += kept; size > longestArgs {
			return nil, c.bad(fmt.Sprintf("a command of more than %d bytes", longestArgs))
		}
		text := make([]byte, kept)
		if err := c.full(text); err != nil {
			return nil, err
		}
		if err := c.skip(length - kept); err != nil {
			return nil, err
		}
		var end [2]byte
		if err := c.full(end[:]); err != nil {
			return nil, err
		}
		if string(end[:]) != "\r\n" {
			return nil, c.bad("an argument that does not end where its length says")
		}
		args = append(args, string(text))
	}
	return args, nil
}

// line reads a line and returns it without CR LF.
func (c *commands) line() (string, error) {
	text, err := c.r.ReadSlice('\n')
	c.offset += int64(len(text))
	switch {
	case errors.Is(err, io.EOF):
		return "", c.cut()
	case errors.Is(err, bufio.ErrBufferFull):
		return "", c.bad("a line that does not end")
	case err != nil:
		return "", fmt.Errorf("offset %d: %w", c.began, err)
	}
	line, ok := strings.CutSuffix(string(text), "\r\n")
	if !ok {
		return "", c.bad("a line that does not end in CR LF")
	}
	return line, nil
}

// count parses the number of a line that begins with a character.
func (c *commands) count(line string, kind byte, least, most int64) (int64, error) {
	if line == "" || line[0] != kind {
		return 0, c.bad(fmt.Sprintf("%s where %q and a number are expected", quote(line[:min(len(line), 32)]), kind))
	}
	n, err := strconv.ParseInt(line[1:], 10, 64)
	if err != nil || n < least || n > most {
		return 0, c.bad(fmt.Sprintf("%s where a number of %d to %d is expected", quote(line[:min(len(line), 32)]), least, most))
	}
	return n, nil
}

func (c *commands) full(text []byte) error {
	n, err := io.ReadFull(c.r, text)
	c.offset += int64(n)
	return c.ended(err)
}

func (c *commands) skip(most int64) error {
	n, err := io.CopyN(io.Discard, c.r, most)
	c.offset += n
	return c.ended(err)
}

func (c *commands) ended(err error) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return c.cut()
	case err != nil:
		return fmt.Errorf("offset %d: %w", c.began, err)
	}
	return nil
}

func (c *commands) cut() error {
	return fmt.Errorf("offset %d: the command has no end: %w", c.began, io.ErrUnexpectedEOF)
}

func (c *commands) bad(what string) error {
	return fmt.Errorf("offset %d: no append log: %s", c.began, what)
}
