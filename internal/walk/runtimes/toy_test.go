// SPDX-License-Identifier: Apache-2.0

package runtimes_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// toy is the runtime of internal/testtargets/src/toy.c, an example of how to add one. It needs no plan and no rules.
type toy struct {
	managed.Base

	version  string
	run      span
	code     span
	compiled uint64
	lib      *frames.Module

	sample *managed.Sample
	outer  uint64 // the expected next record
	seen   bool
	broken bool
}

// end is excluded.
type span struct{ start, end uint64 }

func (s span) has(addr uint64) bool { return addr >= s.start && addr < s.end }

const (
	interpreted uint8 = iota
	compiled
)

// struct record in toy.c, on the C stack of the interpreter's loop.
const (
	recordMagic = 0x70796f74
	recordOuter = 8
	recordDepth = 16
	recordFirst = 24
	frameSize   = 24
	mostFrames  = 8
)

var errNoLoop = errors.New("the toy's interpreter loop has no symbol; give prywalk the program's debug file")

func detectToy(h managed.Host) (managed.Runtime, error) {
	for _, m := range h.Modules() {
		if filepath.Base(m.Name) != "toy" {
			continue
		}
		at, _, ok := h.Symbol(m, "toy_runtime")
		if !ok {
			continue
		}
		run, size, ok := h.Symbol(m, "toy_run")
		if !ok || size == 0 {
			return nil, errNoLoop
		}
		t := &toy{lib: m, run: span{run, run + size}}
		var b [40]byte
		if h.Read(at, b[:]) != len(b) {
			return nil, errNoLoop
		}
		name, _, _ := bytes.Cut(b[:16], []byte{0})
		t.version = string(name)
		t.code.start = binary.LittleEndian.Uint64(b[16:])
		t.code.end = t.code.start + binary.LittleEndian.Uint64(b[24:])
		t.compiled = binary.LittleEndian.Uint64(b[32:])
		return t, nil
	}
	return nil, nil
}

// Name implements managed.Runtime.
func (t *toy) Name() string { return "Toy " + t.version }

// Attach implements managed.Runtime.
func (t *toy) Attach(h managed.Host) bool { return slices.Contains(h.Modules(), t.lib) }

// Begin implements managed.FrameSource.
func (t *toy) Begin(s *managed.Sample) { t.sample, t.seen, t.broken, t.outer = s, false, false, 0 }

// ManagedFrames implements managed.FrameSource.
func (t *toy) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	switch {
	case t.code.has(f.PC):
		return append(out, managed.Ref{Object: t.compiled, Cookie: hotID, Kind: compiled}), true
	case t.run.has(f.PC) && f.SP != 0 && cfa != 0 && cfa != managed.Outermost:
		return t.frames(f.SP, cfa, out)
	}
	return out, false
}

func (t *toy) frames(sp, cfa frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	mem := t.sample.Mem
	for at := sp; at < cfa; at += 8 {
		if w, ok := mem.Word(at); !ok || w != recordMagic^at {
			continue
		}
		outer, _ := mem.Word(at + recordOuter)
		depth, _ := mem.Word(at + recordDepth)
		if t.seen && t.outer != at || depth > mostFrames {
			t.broken = true
		}
		t.seen, t.outer = true, outer
		for i := min(depth, mostFrames); i > 0; i-- {
			frame := at + recordFirst + (i-1)*frameSize
			object, _ := mem.Word(frame)
			id, _ := mem.Word(frame + 8)
			position, _ := mem.Word(frame + 16)
			out = append(out, managed.Ref{Object: object, Position: position, Cookie: id})
		}
		return out, true
	}
	return out, false // the function was just entered
}

// End implements managed.FrameSource.
func (t *toy) End() managed.Health {
	switch {
	case t.broken, t.outer%16 != 0:
		return managed.Broken
	case t.outer != 0:
		return managed.Unmatched
	}
	return managed.Matched
}

// Symbolize implements managed.FrameSource.
func (t *toy) Symbolize(r managed.Ref, l managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	id, fn, code, ok := function(r.Object, l)
	if !ok || id != r.Cookie {
		return out, managed.Freed
	}
	fn.Type, fn.Line = "compiled", fn.StartLine
	if r.Kind == interpreted {
		fn.Type = "interpreted"
		var op [32]byte
		if l.Read(code+r.Position*32, op[:]) == len(op) {
			fn.Line = int(binary.LittleEndian.Uint64(op[16:]))
			if inlined := binary.LittleEndian.Uint64(op[24:]); inlined != 0 {
				_, in, _, _ := function(inlined, l)
				in.Type, in.Line, in.Inlined = fn.Type, in.StartLine, true
				out = append(out, in)
			}
		}
	}
	out = append(out, fn)
	if l.Unchanged() {
		return out, managed.SameMemory
	}
	if id, _, _, ok := function(r.Object, l); !ok || id != r.Cookie { // the object could be freed during the read
		return out, managed.Freed
	}
	return out, managed.Checked
}

func function(at uint64, l managed.Live) (id uint64, f managed.Frame, code uint64, ok bool) {
	var b [40]byte
	if l.Read(at, b[:]) != len(b) {
		return 0, f, 0, false
	}
	f.Function = text(binary.LittleEndian.Uint64(b[8:]), l)
	f.File = text(binary.LittleEndian.Uint64(b[16:]), l)
	f.StartLine = int(binary.LittleEndian.Uint64(b[32:]))
	return binary.LittleEndian.Uint64(b[:]), f, binary.LittleEndian.Uint64(b[24:]), true
}

func text(at uint64, l managed.Live) string {
	var b [64]byte
	s, _, _ := bytes.Cut(b[:l.Read(at, b[:])], []byte{0})
	return string(s)
}
