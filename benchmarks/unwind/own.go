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
	// Warm and Cold are ns per frame, with the rules of earlier walks and without. First is Cold without what runtimes
	// have read of the process.
	Warm  float64 `json:"ns_per_frame_warm"`
	Cold  float64 `json:"ns_per_frame_cold"`
	First float64 `json:"ns_per_frame_first"`
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
	res.Cold = after(space.Forget, stacks, space, coldPasses)
	res.First = after(r.process.DropCaches, stacks, space, coldPasses)
	return res
}

// after returns ns per frame of walks each of which follows drop.
func after(drop func(), stacks []prepared, space *frames.Space, passes int) float64 {
	var w frames.Walker
	var took time.Duration
	cost, n := clockCost(), 0
	for range passes {
		for i := range stacks {
			drop()
			begin := cpuTime()
			n += stacks[i].walk(&w, space)
			took += cpuTime() - begin - cost
		}
	}
	return float64(took) / float64(n)
}
