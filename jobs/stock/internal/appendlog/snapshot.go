package appendlog

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
)

// snapshotHead is the beginning of a snapshot in RDB form.
const snapshotHead = "REDIS"

// snapshotTable is the table of a snapshot's checksum: CRC-64 with the polynomial of Jones,
// reflected.
var snapshotTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

// skipSnapshot reads a snapshot to its end. It returns the number of bytes, and whether it found
// the end: byte 255 followed by the checksum of all bytes before it. Redis before version 7 appends
// commands to the snapshot. A snapshot written with rdbchecksum no has no recognisable end.
func skipSnapshot(ctx context.Context, r *bufio.Reader) (n int64, ends bool, err error) {
	const last, size = 255, 8
	var sum uint64
	for {
		if n%(1<<20) == 0 && ctx.Err() != nil {
			return n, false, context.Cause(ctx)
		}
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return n, false, nil
		}
		if err != nil {
			return n, false, fmt.Errorf("offset %d: %w", n, err)
		}
		n++
		sum = snapshotTable[byte(sum)^b] ^ sum>>8
		if b != last {
			continue
		}
		if tail, _ := r.Peek(size); len(tail) == size && binary.LittleEndian.Uint64(tail) == sum {
			done, err := r.Discard(size)
			return n + int64(done), err == nil, err
		}
	}
}
