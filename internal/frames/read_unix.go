//go:build unix

package frames

import "redrain/internal/rawio"

// supported tells whether a socket that RawConn.Read gives can be read here.
const supported = true

// read reads a socket that does not block.
func read(fd int, p []byte) (int, error) { return rawio.Receive(fd, p) }
