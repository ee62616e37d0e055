// SPDX-License-Identifier: Apache-2.0

package procmem

import "strconv"

// pathBuf is room for "/proc/PID/task/TID/NAME" and its NUL, on the stack of
// who needs it.
type pathBuf [64]byte

// process gives "/proc/PID/name\0"; an empty name gives the directory.
func (p *pathBuf) process(pid int, name string) []byte {
	b := p[:0]
	b = append(b, "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, '/')
	b = append(b, name...)
	return append(b, 0)
}

// thread gives "/proc/PID/task/TID/name\0".
func (p *pathBuf) thread(pid, tid int, name string) []byte {
	b := p[:0]
	b = append(b, "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, "/task/"...)
	b = strconv.AppendInt(b, int64(tid), 10)
	b = append(b, '/')
	b = append(b, name...)
	return append(b, 0)
}
