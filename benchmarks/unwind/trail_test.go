package main

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"prywalk/frames"
)

// recursion is a stack of frames of 32 bytes, over 8 call sites, each of which saves two
// registers: three words are read for a frame.
type recursion struct {
	space *frames.Space
	regs  frames.Regs
	mem   frames.Snapshot
	flip  uint64
}

// Rule implements [frames.RuleSource].
func (*recursion) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 32, Method: frames.MethodCFI, Saved: [frames.NumCompact]uint8{2, 3}}, nil, true
}

func newRecursion(depth int) *recursion {
	const code, stack = 0x1000, 0x70000
	site := func(i int) uint64 { return code + 0x10 + 0x20*uint64(i%8) }
	r := &recursion{space: frames.NewSpace(frames.X86_64)}
	r.space.SetModules([]*frames.Module{{Start: code, End: code + 0x1000, Sources: []frames.RuleSource{r}}})
	var b []byte
	for i := range depth {
		for _, word := range []uint64{0, 2, 3, site(i + 1)} {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
	}
	clear(b[len(b)-8:]) // nobody called the outermost
	r.regs = frames.Regs{Arch: frames.X86_64, PC: site(0)}
	r.regs.Set(frames.X86RSP, stack)
	r.mem.Stack = frames.Region{Addr: stack, Bytes: b}
	return r
}

// change lets the two innermost frames have saved other values than before.
func (r *recursion) change() {
	r.flip++
	for _, word := range []int{1, 2, 5, 6} {
		binary.LittleEndian.PutUint64(r.mem.Stack.Bytes[8*word:], r.flip)
	}
}

// BenchmarkWalkTrail walks stacks of which only the two innermost frames have changed since
// the last walk: without a trail, with one, and with one that has nothing for this walk, so
// that it costs and does not help.
func BenchmarkWalkTrail(b *testing.B) {
	for _, depth := range []int{8, 20, 100, 1000, 10_000} {
		r := newRecursion(depth)
		w := frames.Walker{MaxDepth: -1}
		var t frames.Trail
		ways := []struct {
			name string
			walk func() int
		}{
			{"walked", r.walked(&w)},
			{"trail", r.followed(&w, &t, func() {})},
			{"new-trail", r.followed(&w, &t, t.Reset)},
		}
		for _, way := range ways {
			b.Run(fmt.Sprintf("depth=%d/%s", depth, way.name), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for range 2 {
					if n := way.walk(); n != depth {
						b.Fatalf("%d frames of %d, %v", n, depth, w.StopReason())
					}
				}
				b.ReportAllocs()
				begin := cpuTime()
				for b.Loop() {
					way.walk()
				}
				perFrame(b, cpuTime()-begin, depth*b.N)
			})
		}
	}
}

// walked walks without a trail.
func (r *recursion) walked(w *frames.Walker) func() int {
	return func() (n int) {
		r.change()
		for w.Init(r.space, &r.regs, &r.mem); w.Next(); {
			n++
		}
		return n
	}
}

// followed walks with a trail.
func (r *recursion) followed(w *frames.Walker, t *frames.Trail, before func()) func() int {
	return func() (n int) {
		r.change()
		before()
		for t.Init(w, r.space, &r.regs, &r.mem); t.Next(); {
			n++
			if t.Join() {
				n += t.Skipped().N
			}
		}
		return n
	}
}
