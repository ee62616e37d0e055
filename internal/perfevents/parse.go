// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"bytes"
	"encoding/binary"

	"prywalk/frames"
)

// Kind says what a record tells.
type Kind uint8

// The kinds. Others are passed over.
const (
	Other       Kind = iota
	Sampled          // a thread ran
	Lost             // so many records found no room
	Forked           // a thread or process was born
	Exited           // one ended
	Named            // a thread was given a name, or its process runs another program
	Mapped           // a process mapped code
	Throttled        // the kernel samples no more until the next scheduler's tick
	SwitchedIn       // a thread was put on the processor
	SwitchedOut      // or taken off
)

// Record is one record. What it points to is the ring's.
type Record struct {
	Kind Kind
	// PID and TID say whose it is, PPID and PTID who started it, if it was forked.
	PID, TID, PPID, PTID int
	// CPU is the processor.
	CPU int
	// Time is the moment, CLOCK_MONOTONIC in nanoseconds.
	Time int64
	// Lost is how many records found no room.
	Lost int64

	// Name is the thread's, or the file's that was mapped. Exec: the process runs another program from now on.
	Name []byte
	Exec bool
	// Addr, Len and Off say what was mapped, in bytes. Dev and Inode are the file's, as in proc_pid_maps(5): the major
	// number in the upper, the minor in the lower 32 bits.
	Addr, Len, Off, Dev, Inode uint64

	// Regs are the user's registers, if Whole. Else the sample has none: a kernel thread, 32-bit code.
	Regs  frames.Regs
	Whole bool
	// NoUser: there is no user's stack: the process is in the middle of exec or exit, or has none (a kernel thread).
	NoUser bool
	// Stack are the bytes from the user's stack pointer on, as far as they are there, of Asked that were asked for.
	Stack []byte
	Asked int
	// Longest: no sample has more of it.
	Longest bool

	kernel []byte // the kernel's frames, eight bytes each

	want func(pid int) bool // see [Reader.Want]
}

// Kernel gives the number of the kernel's frames.
func (r *Record) Kernel() int { return len(r.kernel) / 8 }

// KernelFrame gives the address of one of them, the innermost first.
func (r *Record) KernelFrame(i int) uint64 { return word(r.kernel[8*i:]) }

// Types of records (include/uapi/linux/perf_event.h, enum perf_event_type).
const (
	typeLost          = 2
	typeComm          = 3
	typeExit          = 4
	typeThrottle      = 5
	typeFork          = 7
	typeSample        = 9
	typeMmap2         = 10
	typeLostSamples   = 13
	typeSwitch        = 14
	typeSwitchCPUWide = 15

	miscSwitchOut = 1 << 13
	miscCommExec  = 1 << 13
	miscBuildID   = 1 << 14 // a build id stands where device and inode do
)

const (
	// idLen is what follows each record but samples, by sample_id_all: numbers of process and thread, time, processor.
	idLen = 8 + 8 + 8
	// contextFrom is from where on an address in a chain of frames is none, but says of what the next ones are
	// (PERF_CONTEXT_MAX).
	contextFrom = ^uint64(4095) + 1

	abiNone, abi64 = 0, 2
)

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
func half(b []byte) int    { return int(int32(binary.LittleEndian.Uint32(b))) }

// parse reads the body of a record, without its header; false if it makes no sense.
func parse(typ uint32, misc uint16, body []byte, r *Record) bool {
	*r = Record{want: r.want}
	if typ == typeSample {
		return parseSample(body, r)
	}
	if len(body) < idLen {
		return false
	}
	id := body[len(body)-idLen:]
	body = body[:len(body)-idLen]
	r.PID, r.TID, r.Time, r.CPU = half(id), half(id[4:]), int64(word(id[8:])), half(id[16:])
	switch typ {
	case typeLost: // the event's number comes first
		r.Kind = Lost
		return count(body, 8, &r.Lost)
	case typeLostSamples:
		r.Kind = Lost
		return count(body, 0, &r.Lost)
	case typeThrottle:
		r.Kind = Throttled
	case typeFork, typeExit:
		return parseTask(typ, body, r)
	case typeComm:
		return parseComm(misc, body, r)
	case typeMmap2:
		return parseMmap2(misc, body, r)
	case typeSwitch, typeSwitchCPUWide:
		if r.Kind = SwitchedIn; misc&miscSwitchOut != 0 {
			r.Kind = SwitchedOut
		}
	}
	return true
}

// count reads how many were lost.
func count(body []byte, at int, n *int64) bool {
	if len(body) < at+8 {
		return false
	}
	*n = int64(word(body[at:]) & (1<<62 - 1))
	return true
}

// parseTask reads who was born or has ended: pid, ppid, tid, ptid, time.
func parseTask(typ uint32, body []byte, r *Record) bool {
	if len(body) < 24 {
		return false
	}
	if r.Kind = Forked; typ == typeExit {
		r.Kind = Exited
	}
	r.PID, r.PPID, r.TID, r.PTID = half(body), half(body[4:]), half(body[8:]), half(body[12:])
	r.Time = int64(word(body[16:]))
	return true
}

// parseComm reads a thread's name: pid, tid, name.
func parseComm(misc uint16, body []byte, r *Record) bool {
	if len(body) < 8 {
		return false
	}
	r.Kind, r.Exec = Named, misc&miscCommExec != 0
	r.PID, r.TID = half(body), half(body[4:])
	r.Name = untilNUL(body[8:])
	return true
}

// parseMmap2 reads what was mapped: pid, tid, address, length, offset, device, inode, its generation, protection,
// flags, name.
func parseMmap2(misc uint16, body []byte, r *Record) bool {
	const fixed = 64
	if len(body) < fixed {
		return false
	}
	r.Kind = Mapped
	r.PID, r.TID = half(body), half(body[4:])
	r.Addr, r.Len, r.Off = word(body[8:]), word(body[16:]), word(body[24:])
	if misc&miscBuildID == 0 {
		r.Dev = uint64(uint32(half(body[32:])))<<32 | uint64(uint32(half(body[36:])))
		r.Inode = word(body[40:])
	}
	r.Name = untilNUL(body[fixed:])
	return true
}

// untilNUL gives a name without the zeros behind it.
func untilNUL(b []byte) []byte {
	name, _, _ := bytes.Cut(b, []byte{0})
	return name
}

// parseSample reads numbers, time, processor, the kernel's frames, registers and stack, in this order
// (kernel/events/core.c, perf_output_sample).
func parseSample(b []byte, r *Record) bool {
	if len(b) < 32 {
		return false
	}
	r.Kind = Sampled
	r.PID, r.TID, r.Time, r.CPU = half(b), half(b[4:]), int64(word(b[8:])), half(b[16:])
	if r.want != nil && !r.want(r.PID) {
		return true // what follows fills some cache lines, and nobody wants it
	}
	n := word(b[24:])
	if b = b[32:]; n > uint64(len(b)/8) {
		return false
	}
	r.kernel = kernelFrames(b[:8*n])
	if b = b[8*n:]; len(b) < 8 {
		return false
	}
	abi := word(b)
	r.NoUser = abi == abiNone
	b = b[8:]
	if abi != abiNone {
		if len(b) < 8*numRegs {
			return false
		}
		if r.Whole = abi == abi64; r.Whole {
			setRegs(&r.Regs, b)
		}
		b = b[8*numRegs:]
	}
	return parseStack(b, r)
}

// parseStack reads a copy of the stack: its size, the bytes, and how many of these were written. A thread without
// registers has a size of 0 and nothing else.
func parseStack(b []byte, r *Record) bool {
	if len(b) < 8 {
		return false
	}
	size := word(b)
	if b = b[8:]; size == 0 {
		return true
	}
	if size > uint64(len(b)) || uint64(len(b))-size < 8 {
		return false
	}
	written := word(b[size:])
	if written > size {
		return false
	}
	r.Stack, r.Asked = b[:written], int(size)
	return true
}

// kernelFrames leaves out the word that says that the frames are the kernel's.
func kernelFrames(b []byte) []byte {
	if len(b) >= 8 && word(b) >= contextFrom {
		b = b[8:]
	}
	return b
}
