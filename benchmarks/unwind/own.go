// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"time"

	"prywalk/benchmarks/unwind/snapshot"
	"prywalk/frames"
)

type result struct {
	// Frames is the number of its frames in one pass over all stacks.
	Frames int `json:"frames"`
	// Warm and Cold are ns per frame, with the caches of earlier walks and with empty ones.
	Warm float64 `json:"ns_per_frame_warm"`
	Cold float64 `json:"ns_per_frame_cold"`
	// Right is the number of stacks with the recorded chain of program counters.
	Right  int `json:"right"`
	Stacks int `json:"stacks"`
}

type prepared struct {
	regs frames.Regs
	mem  frames.Snapshot
	pcs  []uint64
}

func prepare(f *snapshot.File) []prepared {
	out := make([]prepared, len(f.Stacks))
	for i := range f.Stacks {
		s := &f.Stacks[i]
		end := s.Addr + uint64(len(s.Bytes))
		out[i] = prepared{s.Regs, frames.Snapshot{Stack: frames.Region{Addr: s.Addr, Bytes: s.Bytes}, StackEnd: end}, s.PCs}
	}
	return out
}

func (p *prepared) walk(w *frames.Walker, space *frames.Space) int {
	n := 0
	for w.Init(space, &p.regs, &p.mem); w.Next(); {
		n++
	}
	return n
}

func (p *prepared) right(w *frames.Walker, space *frames.Space) bool {
	n := 0
	for w.Init(space, &p.regs, &p.mem); w.Next(); n++ {
		if n >= len(p.pcs) || w.Frame().PC != p.pcs[n] {
			return false
		}
	}
	return n == len(p.pcs) && w.StopReason().Complete()
}

func (p *prepared) addresses(w *frames.Walker, space *frames.Space) (pcs []uint64) {
	for w.Init(space, &p.regs, &p.mem); w.Next(); {
		pcs = append(pcs, w.Frame().PC)
	}
	return pcs
}

func own(r *recording, passes, coldPasses int) result {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stacks, space := prepare(&r.file), r.process.Space()
	var w frames.Walker
	res := result{Stacks: len(stacks)}
	for i := range stacks {
		if stacks[i].right(&w, space) {
			res.Right++
		}
		res.Frames += len(stacks[i].pcs)
	}
	begin, n := cpuTime(), 0
	for range passes {
		for i := range stacks {
			n += stacks[i].walk(&w, space)
		}
	}
	res.Warm = float64(cpuTime()-begin) / float64(n)
	var cold time.Duration
	cost := clockCost()
	n = 0
	for range coldPasses {
		for i := range stacks {
			r.process.DropCaches()
			begin := cpuTime()
			n += stacks[i].walk(&w, space)
			cold += cpuTime() - begin - cost
		}
	}
	res.Cold = float64(cold) / float64(n)
	return res
}
