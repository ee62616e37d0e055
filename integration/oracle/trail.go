package oracle

import (
	"fmt"
	"slices"

	"prywalk/frames"
)

// trail walks each step's stack a second time, with a trail that is kept over all steps, and compares
// the two walks frame by frame.
type trail struct {
	trail       frames.Trail
	with        frames.Walker
	without     frames.Walker
	last, stack []frames.Frame // with the trail
	plain       []frames.Frame // without it
}

// trails counts walks with a trail.
type trails struct {
	walks, skips, frames, skipped, different int
}

func (n *trails) add(o *trails) {
	n.walks += o.walks
	n.skips += o.skips
	n.frames += o.frames
	n.skipped += o.skipped
	n.different += o.different
}

// follow walks a copy both ways.
func (t *trail) follow(space *frames.Space, regs *frames.Regs, snap *frames.Snapshot, n *trails) error {
	t.with.MaxDepth, t.without.MaxDepth = -1, -1
	t.plain = t.plain[:0]
	for t.without.Init(space, regs, snap); t.without.Next(); {
		t.plain = append(t.plain, t.without.Frame())
	}
	t.last, t.stack = t.stack, t.last[:0]
	for t.trail.Init(&t.with, space, regs, snap); t.trail.Next(); {
		t.stack = append(t.stack, t.with.Frame())
		if t.trail.Join() {
			s := t.trail.Skipped()
			t.stack = append(t.stack, t.last[s.From:s.From+s.N]...)
			n.skips++
			n.skipped += s.N
		}
	}
	n.walks++
	n.frames += len(t.plain)
	if slices.Equal(t.stack, t.plain) && t.with.StopReason() == t.without.StopReason() && sameRegs(t.with.Regs(), t.without.Regs()) {
		return nil
	}
	n.different++
	return fmt.Errorf("with a trail %d frames, %v, %+v skipped, ends at %+v; without %d, %v, at %+v", len(t.stack), t.with.StopReason(),
		t.trail.Skipped(), t.with.Frame(), len(t.plain), t.without.StopReason(), t.without.Frame())
}

// sameRegs compares what is known of two register sets.
func sameRegs(a, b *frames.Regs) bool {
	for r := range uint8(frames.NumRegs) {
		x, known := a.Get(r)
		if y, also := b.Get(r); known != also || known && x != y {
			return false
		}
	}
	return a.PC == b.PC
}
