// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
)

// image is a process of which only some bytes can be read, wherever they lie.
type image struct {
	at    uint64
	bytes []byte
	text  []byte // the section that has the version
}

func (m *image) Read(addr uint64, b []byte) int {
	if addr < m.at || addr-m.at >= uint64(len(m.bytes)) {
		return 0
	}
	return copy(b, m.bytes[addr-m.at:])
}

func (m *image) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := m.Read(addr, b[:]) == 8
	return binary.LittleEndian.Uint64(b[:]), ok
}

func (m *image) Cut(uint64) bool                                       { return false }
func (m *image) Unchanged() bool                                       { return len(m.bytes)%2 == 0 }
func (m *image) Arch() frames.Arch                                     { return frames.X86_64 }
func (m *image) ReadCode(addr uint64, b []byte) int                    { return m.Read(addr, b) }
func (m *image) Analysis() *heuristics.Source                          { return nil }
func (m *image) Symbol(*frames.Module, string) (uint64, uint64, bool)  { return 0, 0, false }
func (m *image) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, m.text, true }

func (m *image) Modules() []*frames.Module {
	return []*frames.Module{{Name: "/usr/bin/php8.2", Start: m.at, End: m.at + 1<<21}, {Start: m.at + 1<<21,
		End: m.at + 1<<22, Generated: true}, {Name: "/lib/libc.so.6"}}
}

func (m *image) OwnSymbols(*frames.Module, ...string) []managed.Symbol {
	symbols := []managed.Symbol{
		{Name: symExecute, Addr: m.at + 1<<20, Size: 1 << 12}, {Name: symOffset, Addr: m.at + 8},
		{Name: symCache, Addr: m.at + 64}, {Name: symModule, Addr: m.at + 16},
	}
	for i, name := range []string{symUsed, symUser, symList, symTID, symSize, symRtld} {
		symbols = append(symbols, managed.Symbol{Name: name, Addr: m.at + 16*uint64(i)})
	}
	if len(m.bytes)%3 == 0 {
		symbols = append(symbols, managed.Symbol{Name: symGlobals, Addr: m.at})
	}
	return symbols
}

// oddCalls has a call before each odd address.
type oddCalls struct{}

func (oddCalls) CallBefore(ret frames.Addr) (frames.Call, bool) { return frames.Call{}, ret%2 == 1 }
func (oddCalls) FuncStart(frames.Addr) (frames.Addr, bool)      { return 0, false }

// walkAll walks a stack of a few native frames over an image, with the executor's globals where the image begins.
func walkAll(r *Runtime, m *image) {
	regs := frames.Regs{Arch: frames.X86_64, TLS: m.at}
	regs.Set(frames.X86_64.SP(), m.at+256)
	if data, ok := m.Word(m.at + 512); ok {
		regs.Set(frames.X86R14, data)
		regs.Set(frames.X86R15, data)
	}
	for _, loop := range []uint64{1<<20 + 128, 1<<21 + 8} {
		r.Begin(&managed.Sample{InnerTID: 7, Regs: &regs, Mem: m, At: 1, Live: m})
		var out []managed.Ref
		out, _ = r.ManagedFrames(&frames.Frame{PC: 1, SP: m.at ^ 1<<46}, m.at^1<<46+64, out) // of another stack
		for sp := m.at + 256; sp < m.at+2048; sp += 256 {
			out, _ = r.ManagedFrames(&frames.Frame{PC: m.at + loop, SP: sp, AfterCall: sp > m.at+256}, sp+256, out)
		}
		out, _ = r.ManagedFrames(&frames.Frame{PC: 1, SP: m.at + 2048}, managed.Outermost, out)
		r.End()
		for _, ref := range out {
			r.Symbolize(ref, m, nil)
		}
	}
	r.threads.find(m)
	for range 2 {
		r.threads.pointerOf(m, 7)
		r.threads.next = 0
	}
	r.Anchor(7, 0)
	r.Anchor(7, m.at)
	r.module.Calls, r.jit.runtime = oddCalls{}, r
	r.jit.find(&regs, m, 0)
}

// FuzzWalk: whatever lies where the engine's structures are looked for, walks end, and read nothing without bounds.
func FuzzWalk(f *testing.F) {
	version := []byte("X-Powered-By: PHP/8.2.1\x00")
	f.Add(make([]byte, 4096), version, uint64(1<<32), uint8(2))
	self := make([]byte, 4095) // each word leads to the first one
	for i := 0; i+8 < len(self); i += 8 {
		binary.LittleEndian.PutUint64(self[i:], 1<<32)
	}
	f.Add(self, version, uint64(1<<32), uint8(0))
	user := make([]byte, 4098) // a call of a user function, whose record leads to itself
	for i := 0; i+8 < len(user); i += 8 {
		binary.LittleEndian.PutUint64(user[i:], 1<<32+1024)
	}
	binary.LittleEndian.PutUint64(user[1024:], typeUser)
	f.Add(user, []byte("X-Powered-By: PHP/X-Powered-By: PHP/8.4.0"), uint64(1<<32), uint8(4))
	l := newListed()
	l.put(listedAt+80+usedHead-rtld, pthread(1)+listOff) // from where Own has symRtld
	l.put(pthread(1)+listOff+8, listedAt+80+usedHead-rtld)
	f.Add(l.bytes, version, l.at, uint8(2))
	f.Fuzz(func(_ *testing.T, b, text []byte, at uint64, release uint8) {
		m := &image{at, b, text}
		if rt, err := Detect(m); err == nil && rt != nil {
			rt.Attach(m)
			walkAll(rt.(*Runtime), m)
		}
		r := &Runtime{layout: layouts[int(release)%len(layouts)], globals: at, host: m, module: m.Modules()[0],
			executeEx: managed.Span{Start: at + 1<<20, End: at + 1<<20 + 4096}, dataReg: frames.X86R14, oplineReg: frames.X86R15}
		r.current = 0
		r.Attach(m)
		r.findCold()
		walkAll(r, m)
	})
}

// FuzzPosition: opcodes that are none of a function's have no line.
func FuzzPosition(f *testing.F) {
	f.Add(uint64(64), uint64(96), uint64(2))
	f.Fuzz(func(t *testing.T, opcodes, opline, last uint64) {
		fn := &function{opcodes: opcodes, id: identity{last: last % (1 << 20)}}
		if p := fn.position(opline); p > last%(1<<20) {
			t.Errorf("position %d of %d", p, last)
		}
		fn.line(opline)
	})
}
