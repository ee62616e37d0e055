// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/frames"

type sizeHints struct {
	Bytes int
	// Bytes that the last walks used: it rises at once, and falls by 1/8 of the difference with each walk. A lower
	// bound after a kernel sample with too few.
	Used     int
	Top      frames.Addr // no copy goes beyond; 0: unknown
	Changing bool        // the thread changes stacks, and Top was another stack's
	Root     frames.Addr // stack pointer of the outermost frame in the last complete walk, or 0
	ToEnd    bool        // no walk was complete: the stack is assumed to end with its mapping
}

type sizeLearner struct {
	*sizeHints
	topInvalid bool        // a walk passed Top; a complete walk must confirm it before it is set again
	invalidTop frames.Addr // the Top that was passed
	passed     int         // passed Tops
	walks      uint
}

// Incomplete walks until ToEnd is dropped.
const maxToEnd = 8

// maxPassed bounds how often a Top that walks have passed is set again.
const maxPassed = 16

// update reports whether the copy was too short and the next one is longer.
func (learner *sizeLearner) update(end walkEnd, w *frames.Walker, s *RawSample) (again bool) {
	learner.learnEnd(end, w, s)
	from, reach := s.Mem.Stack.Addr, w.HighestSP()
	if used := reach - from; used <= s.Mem.StackEnd-from {
		cut := end == endCut && s.How != BySample
		if cut || end == endBetween {
			used = max(used, learner.sizeToEnd(s))
		}
		if end == endBetween {
			used = max(used, w.UnreadAddr()-from)
			again = true
		}
		again = learner.setSize(int(used)+16, max(len(s.buf), minCopy), cut, s.limit == limitTop) || again
	}
	if end == endComplete && reach <= s.notRoot && reach-from < minCopy {
		learner.Changing = true
	}
	if end == endCut && s.isFullSample() {
		learner.Used = s.fullSampleBytes + 1
	}
	return again
}

func (learner *sizeLearner) learnEnd(end walkEnd, w *frames.Walker, s *RawSample) {
	complete, reach := end == endComplete, w.HighestSP()
	if complete && (w.OnOtherStack() || w.Frame().SP != 0) {
		learner.Root = reach
	}
	if complete && (reach-s.Mem.Stack.Addr < uint64(len(s.Mem.Stack.Bytes)) || s.tailAt != 0 && reach > s.tailAt) {
		learner.setTop(reach)
	}
	learner.walks++
	if complete || learner.walks == maxToEnd {
		learner.ToEnd = false
	}
}

// hasAll reports whether the copy reaches the stack's known end.
func (learner *sizeLearner) hasAll(s *RawSample) bool {
	from, root := s.Mem.Stack.Addr, learner.Root
	return !learner.Changing && root > from && root-from <= uint64(len(s.Mem.Stack.Bytes))
}

// sizeToEnd returns 0 if the end is unknown or more than maxBridge away.
func (learner *sizeLearner) sizeToEnd(s *RawSample) uint64 {
	from, end := s.Mem.Stack.Addr, learner.Root
	if end <= from || learner.Changing {
		end = s.Mem.StackEnd
	}
	if size := end - from; end > from && size <= maxBridge {
		return size
	}
	return 0
}

// setSize sets the size of the next copy, and reports whether it is longer. cut: the copy was too short; toTop: it went
// up to Top. Each short copy of a batch of walks must lead to the same size: it grows from fullCopy, not from Bytes.
func (learner *sizeLearner) setSize(used, fullCopy int, cut, toTop bool) (again bool) {
	old := learner.Bytes
	want := used + copyMargin
	switch {
	case cut && toTop && learner.Top != 0:
		learner.invalidTop = learner.Top
		learner.Top = 0
		learner.topInvalid = true
		learner.passed++
		want = max(old, want) // Top cut it
	case cut:
		want = max(old, 4*fullCopy, want)
	case want < old:
		want = old - (old-want)/8 // depths vary
	}
	learner.Bytes = min(max(want, minCopy), maxCopy)
	learner.Used -= (learner.Used - used) / 8
	if used > learner.Used {
		learner.Used = used
	}
	return cut && old < maxCopy
}

// setTop bounds copies by the end of a complete walk, as other data may follow (goroutines). A Top that a walk passed
// is set again if a complete walk ends there, at most maxPassed times.
func (learner *sizeLearner) setTop(addr uint64) {
	top := addr + copyMargin
	if learner.topInvalid && top == learner.invalidTop && learner.passed <= maxPassed {
		learner.topInvalid = false
	}
	if !learner.topInvalid {
		learner.Top = top
	}
}

func (learner *sizeLearner) atLeast(n int) { learner.Bytes = max(learner.Bytes, n) }
