// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type image struct {
	at    uint64
	bytes []byte
	text  []byte // has the version
}

func (img *image) Read(addr uint64, b []byte) int {
	if addr < img.at || addr-img.at >= uint64(len(img.bytes)) {
		return 0
	}
	return copy(b, img.bytes[addr-img.at:])
}

func (img *image) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := img.Read(addr, b[:]) == 8
	return binary.LittleEndian.Uint64(b[:]), ok
}

func (img *image) Cut(uint64) bool                                       { return false }
func (img *image) Unchanged() bool                                       { return len(img.bytes)%2 == 0 }
func (img *image) Arch() frames.Arch                                     { return frames.X86_64 }
func (img *image) ReadCode(addr uint64, b []byte) int                    { return img.Read(addr, b) }
func (img *image) CodeAnalysis() *heuristics.Source                      { return nil }
func (img *image) Symbol(*frames.Module, string) (uint64, uint64, bool)  { return 0, 0, false }
func (img *image) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, img.text, true }

func (img *image) Modules() []*frames.Module {
	return []*frames.Module{{Name: "/usr/bin/php8.2", Start: img.at, End: img.at + 1<<21}, {Start: img.at + 1<<21,
		End: img.at + 1<<22, Generated: true}, {Name: "/lib/libc.so.6"}}
}

func (img *image) OwnSymbols(*frames.Module, ...string) []managed.Symbol {
	symbols := []managed.Symbol{
		{Name: symExecute, Addr: img.at + 1<<20, Size: 1 << 12}, {Name: symOffset, Addr: img.at + 8},
		{Name: symCache, Addr: img.at + 64}, {Name: symModule, Addr: img.at + 16},
	}
	for i, name := range []string{"_thread_db_rtld_global__dl_stack_used", "_rtld_global"} {
		symbols = append(symbols, managed.Symbol{Name: name, Addr: img.at + 16*uint64(i)})
	}
	if len(img.bytes)%3 == 0 {
		symbols = append(symbols, managed.Symbol{Name: symGlobals, Addr: img.at})
	}
	return symbols
}

type asleep struct{}

func (asleep) Mark([]int) bool { return true }
func (asleep) Slept() bool     { return false }

type oddCalls struct{}

func (oddCalls) CallBefore(ret frames.Addr) (frames.Call, bool) { return frames.Call{}, ret%2 == 1 }
func (oddCalls) FuncStart(frames.Addr) (frames.Addr, bool)      { return 0, false }

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
		out, _ = r.ManagedFrames(&frames.Frame{PC: 1, SP: m.at ^ 1<<46}, m.at^1<<46+64, out) // another stack
		for sp := m.at + 256; sp < m.at+2048; sp += 256 {
			out, _ = r.ManagedFrames(&frames.Frame{PC: m.at + loop, SP: sp, AfterCall: sp > m.at+256}, sp+256, out)
		}
		out, _ = r.ManagedFrames(&frames.Frame{PC: 1, SP: m.at + 2048}, managed.Outermost, out)
		r.End()
		for _, ref := range out {
			r.Symbolize(ref, m, nil)
		}
	}
	r.threads.Find(m)
	r.Coroutines(asleep{})
	r.Anchor(7, 0)
	r.Anchor(7, m.at)
	r.module.Calls, r.jit.runtime = oddCalls{}, r
	r.jit.find(&regs, m, 0)
}

func FuzzWalk(f *testing.F) {
	version := []byte("X-Powered-By: PHP/8.2.1\x00")
	f.Add(make([]byte, 4096), version, uint64(1<<32), uint8(2))
	self := make([]byte, 4095)
	for i := 0; i+8 < len(self); i += 8 {
		binary.LittleEndian.PutUint64(self[i:], 1<<32)
	}
	f.Add(self, version, uint64(1<<32), uint8(0))
	user := make([]byte, 4098)
	for i := 0; i+8 < len(user); i += 8 {
		binary.LittleEndian.PutUint64(user[i:], 1<<32+1024)
	}
	binary.LittleEndian.PutUint64(user[1024:], typeUser)
	f.Add(user, []byte("X-Powered-By: PHP/X-Powered-By: PHP/8.4.0"), uint64(1<<32), uint8(4))
	f.Fuzz(func(_ *testing.T, b, text []byte, at uint64, release uint8) {
		m := &image{at, b, text}
		if rt, err := Detect(m); err == nil && rt != nil {
			rt.Attach(m)
			walkAll(rt.(*Runtime), m)
		}
		r := &Runtime{layout: layouts[int(release)%len(layouts)], globals: at, host: m, module: m.Modules()[0],
			executeEx: managed.Span{Start: at + 1<<20, End: at + 1<<20 + 4096}, dataReg: frames.X86R14, oplineReg: frames.X86R15}
		r.layout.current, r.layout.objects = 0, 24
		r.fibers = fibers{php: r, classAt: at + 32}
		r.Attach(m)
		r.findCold()
		walkAll(r, m)
	})
}

func FuzzPosition(f *testing.F) {
	f.Add(uint64(64), uint64(96), uint64(2))
	f.Fuzz(func(t *testing.T, opcodes, opline, last uint64) {
		fn := &function{id: identity{opcodes: opcodes, last: last % (1 << 20)}}
		if p := fn.position(opline); p > last%(1<<20) {
			t.Errorf("position %d of %d", p, last)
		}
		fn.line(opline)
	})
}
