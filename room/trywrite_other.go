//go:build !unix

package room

import "syscall"

// systemWriter leaves every write to a goroutine that waits.
type systemWriter struct{ raw syscall.RawConn }

func (systemWriter) TryWrite([]byte) (int, error) { return 0, nil }
