// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The descriptors that are read: of poll, and of a set of select.
const (
	maxFDs      = 64
	maxSelected = 1024 // FD_SETSIZE
)

// ReadCallMemory sets the descriptors of poll and select, a path, and a sleep's length. read returns the number of
// bytes; it is called at most three times.
func (w *Wait) ReadCallMemory(s *Sleeper, read func(addr uint64, buf []byte) int) {
	if t := s.time(); t.addr != 0 {
		var b [16]byte
		if read(t.addr, b[:]) == len(b) {
			w.setTime(binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]), t, s.At)
		}
	}
	w.readDescriptors(s, maxFDs, read)
	w.ReadPath(s, read)
}

// IsReadLater reports whether a part of what is waited for is read after the sample of the thread.
func (w *Wait) IsReadLater() bool {
	return w.Kind == FileLock || w.Kind == Sleep || w.FD != nil || len(w.FDs) > 0 || w.Path != ""
}

// ForgetReadLater removes what is read after the sample of a thread, which may have gone on meanwhile.
func (w *Wait) ForgetReadLater() {
	if w.FD != nil {
		w.FD = fileOf(uint64(w.FD.FD))
	}
	w.FDs, w.Path, w.Until, w.Ownership = nil, "", "", Ownership{Why: "not known: its thread ran before it was looked up"}
}

// MaxPath is the number of bytes of a path that are read; a longer one is not shown.
const MaxPath = 512

// pageSize is the least of all machines.
const pageSize = 4096

// ReadPath sets the path that a call looks up. read is called at most twice.
func (w *Wait) ReadPath(s *Sleeper, read func(addr uint64, buf []byte) int) {
	arg, ok := pathArguments[s.Reason]
	if !ok || !s.InCall || w.Kind != Other && w.Kind != Disk {
		return
	}
	var b [MaxPath]byte
	addr := s.Args[arg]
	first := int(min(MaxPath, pageSize-addr%pageSize)) // the next page may be unreadable
	n := read(addr, b[:first])
	if n == first && bytes.IndexByte(b[:n], 0) < 0 {
		n += read(addr+uint64(n), b[n:])
	}
	if end := bytes.IndexByte(b[:n], 0); end > 0 {
		w.Path = strings.ToValidUTF8(string(b[:end]), "\uFFFD")
	}
}

// readDescriptors sets the first descriptors of poll and select, at most limit. read is called at most three times.
func (w *Wait) readDescriptors(s *Sleeper, limit int, read func(addr uint64, buf []byte) int) {
	if !s.InCall || w.Kind != Descriptor || w.FD != nil {
		return
	}
	switch s.Reason {
	case "poll", "ppoll":
		w.FDs = pollFDs(s.Args[0], s.Args[1], limit, read)
	case "select", "pselect6":
		w.FDs = selectFDs(&s.Args, limit, read)
	}
}

// OnlyDescriptor returns the descriptor of a poll or select of one; false also if not all can be read. read is called
// at most three times.
func (w *Wait) OnlyDescriptor(s *Sleeper, read func(addr uint64, buf []byte) int) (fd int, ok bool) {
	if isPoll := strings.HasSuffix(s.Reason, "poll"); isPoll && s.Args[1] > maxFDs || !isPoll && s.Args[0] > maxSelected {
		return 0, false
	}
	if w.readDescriptors(s, 2, read); len(w.FDs) != 1 {
		return 0, false
	}
	return int(w.FDs[0].FD), true
}

// addr is of an array of struct pollfd (include/uapi/asm-generic/poll.h).
func pollFDs(addr, n uint64, limit int, read func(uint64, []byte) int) (out []OpenFile) {
	const size = 8
	b := make([]byte, size*min(n, maxFDs))
	got := read(addr, b)
	for i := 0; i+size <= got && len(out) < limit; i += size {
		if fd := int32(binary.LittleEndian.Uint32(b[i:])); fd >= 0 {
			out = append(out, OpenFile{FD: FileNumber(fd)})
		}
	}
	return out
}

// selectFDs returns nil if a set is unreadable.
func selectFDs(args *[6]uint64, limit int, read func(uint64, []byte) int) (out []OpenFile) {
	var all [maxSelected / 8]byte
	n := min((args[0]+7)/8, uint64(len(all)))
	for _, addr := range args[1:4] {
		var b [len(all)]byte
		if addr == 0 {
			continue
		}
		if read(addr, b[:n]) != int(n) {
			return nil
		}
		for i := range all {
			all[i] |= b[i]
		}
	}
	for fd := 0; fd < int(min(args[0], 8*n)) && len(out) < limit; fd++ {
		if all[fd/8]>>(fd%8)&1 != 0 {
			out = append(out, OpenFile{FD: FileNumber(fd)})
		}
	}
	return out
}

// timerAbsolute is TIMER_ABSTIME of clock_nanosleep(2).
const timerAbsolute = 1

type sleepTime struct {
	addr     uint64 // of a struct timespec; 0 means none
	absolute bool   // an end, not a length
	clock    uint64
}

func (s *Sleeper) time() sleepTime {
	switch {
	case !s.InCall:
	case s.Reason == "nanosleep":
		return sleepTime{addr: s.Args[0]}
	case s.Reason == "clock_nanosleep":
		return sleepTime{s.Args[2], s.Args[1]&timerAbsolute != 0, s.Args[0]}
	}
	return sleepTime{}
}

func (w *Wait) setTime(sec, nsec uint64, t sleepTime, at int64) {
	if sec > 1<<33 || nsec >= 1e9 {
		return
	}
	length := time.Duration(sec*1e9 + nsec)
	switch {
	case !t.absolute:
		w.Until = "for " + length.String()
	case t.clock == unix.CLOCK_REALTIME:
		w.Until = "until " + time.Unix(int64(sec), int64(nsec)).UTC().Format(time.RFC3339Nano)
	case t.clock == unix.CLOCK_MONOTONIC && at != 0:
		w.Until = "for " + max(length-time.Duration(at), 0).Round(time.Millisecond).String() + " more"
	case t.clock == unix.CLOCK_MONOTONIC:
		w.Until = fmt.Sprintf("until %d.%03d s of CLOCK_MONOTONIC", sec, nsec/1e6)
	default:
		w.Until = fmt.Sprintf("until %d.%03d s of clock %d", sec, nsec/1e6, t.clock)
	}
}
