// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/wire"
	"prywalk/internal/host/procmem"
)

// Kind is the kind of a record.
type Kind uint8

// Kinds of records. Others are skipped.
const (
	Other Kind = iota
	Sampled
	lost // the ring was full
	Forked
	Exited
	CommSet // a thread's new name, also by exec
	Mapped
	throttled // no samples until the next scheduler tick
)

// Record is one record. Its slices point into the ring, and are valid until the callback returns.
type Record struct {
	Kind     Kind
	PID, TID int
	PPID     int // process of the creator (Forked)
	CPU      int
	Time     monotonic.Moment
	Period   time.Duration // of the event when it was opened or inherited, CPU time (Sampled)
	Lost     int64         // records

	Name []byte // of the thread or the mapped file
	Exec bool   // an exec gave the name
	// The mapping, bytes, and its file: Dev (major<<32 | minor), Inode.
	Addr, Len, Off, Dev, Inode uint64

	Regs    frames.Regs // of the user, if HasRegs
	HasRegs bool        // the program is 64-bit
	NoUser  bool        // never in user space
	Stack   []byte      // the readable ones of the Asked bytes from the stack pointer on
	Asked   int

	kernel []byte

	want func(pid int) bool
}

// Kernel returns the number of kernel frames.
func (r *Record) Kernel() int { return len(r.kernel) / 8 }

// KernelFrame returns the address of a kernel frame; 0 is the innermost.
func (r *Record) KernelFrame(i int) uint64 { return word(r.kernel[8*i:]) }

// The types are of include/uapi/linux/perf_event.h, enum perf_event_type.
const (
	typeLost        = 2
	typeComm        = 3
	typeExit        = 4
	typeThrottle    = 5
	typeFork        = 7
	typeSample      = 9
	typeMmap2       = 10
	typeLostSamples = 13

	miscCommExec = 1 << 13
	miscBuildID  = 1 << 14 // a build id in place of device and inode
)

const (
	// idLen is the trailer of records other than samples (sample_id_all).
	idLen = 8 + 8 + 8
	// contextFrom is the lowest marker (PERF_CONTEXT_MAX).
	contextFrom   = ^uint64(4095) + 1
	contextKernel = ^uint64(128) + 1

	abiNone, abi64 = 0, 2
)

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func int32At(b []byte) int      { return int(int32(binary.LittleEndian.Uint32(b))) }
func signed(c *wire.Cursor) int { return int(int32(c.U32())) }

// parse decodes a record's body into r; false means that it is malformed.
func parse(typ uint32, misc uint16, body []byte, r *Record) bool {
	*r = Record{want: r.want}
	if typ == typeSample {
		return parseSample(wire.Cursor{Bytes: body}, r)
	}
	if len(body) < idLen {
		return false
	}
	r.setID(body[len(body)-idLen:])
	c := wire.Cursor{Bytes: body[:len(body)-idLen]}
	switch typ {
	case typeLost:
		c.Skip(8) // the event
		fallthrough
	case typeLostSamples:
		r.Kind, r.Lost = lost, int64(c.U64()&(1<<62-1))
	case typeThrottle:
		r.Kind = throttled
	case typeFork, typeExit:
		if r.Kind = Forked; typ == typeExit {
			r.Kind = Exited
		}
		r.PID, r.PPID, r.TID = signed(&c), signed(&c), signed(&c)
		c.Skip(4) // the creator's thread
		r.Time = monotonic.Moment(c.U64())
	case typeComm:
		r.Kind, r.Exec = CommSet, misc&miscCommExec != 0
		r.PID, r.TID = signed(&c), signed(&c)
		r.Name = untilNUL(c.Rest())
	case typeMmap2:
		r.Kind = Mapped
		r.PID, r.TID = signed(&c), signed(&c)
		r.Addr, r.Len, r.Off = c.U64(), c.U64(), c.U64()
		file := wire.Cursor{Bytes: c.Take(24)} // device, inode, generation
		if misc&miscBuildID == 0 {
			r.Dev = uint64(file.U32())<<32 | uint64(file.U32())
			r.Inode = file.U64()
		}
		c.Skip(8) // protection, flags
		r.Name = untilNUL(c.Rest())
	}
	return !c.Bad
}

func (r *Record) setID(b []byte) {
	r.PID, r.TID, r.Time, r.CPU = int32At(b), int32At(b[4:]), monotonic.Moment(word(b[8:])), int32At(b[16:])
}

func untilNUL(b []byte) []byte {
	name, _, _ := bytes.Cut(b, []byte{0})
	return name
}

// parseSample parses ids, time, CPU, period, kernel frames, registers and stack (kernel/events/core.c,
// perf_output_sample).
func parseSample(c wire.Cursor, r *Record) bool {
	head := c.Take(40)
	if head == nil {
		return false
	}
	r.Kind, r.Period = Sampled, time.Duration(word(head[24:]))
	if r.setID(head); r.want != nil && !r.want(r.PID) {
		return true
	}
	r.kernel = kernelFrames(c.Take(8 * min(word(head[32:]), largest)))
	abi := c.U64()
	if r.NoUser = abi == abiNone; !r.NoUser {
		regs := c.Take(8 * uint64(numRegs))
		if r.HasRegs = abi == abi64 && !c.Bad; r.HasRegs {
			setRegs(&r.Regs, regs)
		}
	}
	size := c.U64()
	if size == 0 {
		return !c.Bad
	}
	stack, written := c.Take(size), c.U64()
	if c.Bad || written > size {
		return false
	}
	r.Stack, r.Asked = stack[:written], int(size)
	return true
}

// kernelFrames returns the kernel's part of a call chain, up to the next marker. Without markers, all is the kernel's.
func kernelFrames(b []byte) []byte {
	if len(b) >= 8 && word(b) == contextKernel {
		b = b[8:]
	}
	end := 0
	for end < len(b) && word(b[end:]) < contextFrom {
		end += 8
	}
	return b[:end]
}

// Registers by perf's numbers (arch/{x86,arm64}/include/uapi/asm/perf_regs.h).
const (
	// x86Mask has ax, bx, cx, dx, si, di, bp, sp, ip, and r8 to r15.
	x86Mask = 1<<9 - 1 | 0xff<<16
	x86Regs = 17
	// arm64Mask has x0 to x30, sp, pc.
	arm64Mask = 1<<33 - 1
	arm64Regs = 33
)

var regMask, numRegs, setRegs = hostRegs(runtime.GOARCH)

func hostRegs(arch string) (mask uint64, n int, set func(*frames.Regs, []byte)) {
	if arch == "arm64" {
		return arm64Mask, arm64Regs, setARM64
	}
	return x86Mask, x86Regs, setX86
}

// x86Order has the DWARF numbers of ax to sp, then r8 to r15.
var x86Order = [...]uint8{
	frames.X86RAX, frames.X86RBX, frames.X86RCX, frames.X86RDX, frames.X86RSI, frames.X86RDI, frames.X86RBP, frames.X86RSP,
	8, 9, 10, 11, 12, 13, 14, 15,
}

func setX86(to *frames.Regs, b []byte) {
	*to = frames.Regs{Arch: frames.X86_64, PC: word(b[8*8:])}
	for i, reg := range x86Order {
		if i >= 8 {
			i++
		}
		to.Set(reg, word(b[8*i:]))
	}
}

func setARM64(to *frames.Regs, b []byte) {
	*to = frames.Regs{Arch: frames.ARM64, PC: word(b[8*32:]), PACMask: procmem.UserPACMask}
	for i := range uint8(32) {
		to.Set(i, word(b[8*int(i):]))
	}
}
