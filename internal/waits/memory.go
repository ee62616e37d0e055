// SPDX-License-Identifier: Apache-2.0

package waits

import "encoding/binary"

const maxFDs = 64

// ReadCallMemory sets the descriptors of poll and select, and a sleep's length, from the call's memory. read, called at
// most four times, copies memory and gives the number of bytes.
func (w *Wait) ReadCallMemory(s *Sleeper, read func(addr uint64, buf []byte) int) {
	if t := s.time(); t.addr != 0 {
		var b [16]byte
		if read(t.addr, b[:]) == len(b) {
			w.setTime(binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]), t, s.At)
		}
	}
	if !s.InCall || w.Kind != Descriptor || w.FD != nil {
		return
	}
	switch s.Wait {
	case "poll", "ppoll":
		w.FDs = pollFDs(s.Args[0], s.Args[1], read)
	case "select", "pselect6":
		w.FDs = selectFDs(&s.Args, read)
	}
}

// pollFDs reads an array of struct pollfd (include/uapi/asm-generic/poll.h).
func pollFDs(addr, n uint64, read func(uint64, []byte) int) (out []File) {
	const size = 8
	var b [size * maxFDs]byte
	got := read(addr, b[:size*min(n, maxFDs)])
	for i := 0; i+size <= got; i += size {
		if fd := int32(binary.LittleEndian.Uint32(b[i:])); fd >= 0 {
			out = append(out, File{FD: int(fd)})
		}
	}
	return out
}

func selectFDs(args *[6]uint64, read func(uint64, []byte) int) (out []File) {
	var all [128]byte
	n := min((args[0]+7)/8, uint64(len(all)))
	for _, addr := range args[1:4] {
		var b [len(all)]byte
		if addr == 0 || read(addr, b[:n]) != int(n) {
			continue
		}
		for i := range all {
			all[i] |= b[i]
		}
	}
	for fd := 0; fd < int(min(args[0], 8*n)) && len(out) < maxFDs; fd++ {
		if all[fd/8]>>(fd%8)&1 != 0 {
			out = append(out, File{FD: fd})
		}
	}
	return out
}
