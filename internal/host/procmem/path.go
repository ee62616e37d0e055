// SPDX-License-Identifier: Apache-2.0

package procmem

import "strconv"

type pathBuf [64]byte

func (p *pathBuf) process(pid int, name string) []byte {
	b := p[:0]
	b = append(b, "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, '/')
	b = append(b, name...)
	return append(b, 0)
}

func (p *pathBuf) thread(pid, tid int, name string) []byte {
	b := p.process(pid, "task/")
	b = strconv.AppendInt(b[:len(b)-1], int64(tid), 10)
	b = append(b, '/')
	b = append(b, name...)
	return append(b, 0)
}
