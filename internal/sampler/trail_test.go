package sampler

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/profile"
	"prywalk/internal/testtargets"
)

// bothWays walks every shot a second time, without a trail, and compares.
type bothWays struct {
	u      *unwinder
	plain  frames.Walker
	locs   []profile.Loc
	before [frames.NumMethods]int64

	walks, skips, frames, skipped int
	different                     []string
}

// watch makes an unwinder give every thread a trail, however shallow its stack is, and
// compare.
func (b *bothWays) watch(u *unwinder) {
	b.u, u.check, u.trails.from = u, b.compare, 0
	b.plain.MaxDepth = u.walker.MaxDepth
}

func (b *bothWays) compare(p *process, s *look.Shot, id profile.StackID) {
	u, w := b.u, &b.plain
	b.locs = b.locs[:0]
	methods := b.before
	for w.Init(p.target.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		methods[f.Method]++
		b.locs = append(b.locs, profile.Loc{Module: u.module(p, f.Module), Addr: f.Lookup(s.Regs.Arch)})
	}
	n, stop := len(b.locs), w.StopReason()
	if !stop.Complete() {
		b.locs = append(b.locs, profile.Loc{Synthetic: "[incomplete: " + stop.String() + "]"})
	}
	got := &u.walker
	if want := u.builder.Intern(b.locs); want != id || stop != got.StopReason() || methods != u.methods ||
		w.Frame() != got.Frame() || !sameRegs(w.Regs(), got.Regs()) || w.Lacking() != got.Lacking() {
		b.different = append(b.different, fmt.Sprintf("%d frames, %v, %v at %+v; with its trail %d, %v, %v at %+v, after skipping %+v",
			n, stop, methods, w.Frame(), len(u.locs)+u.known.N, got.StopReason(), u.methods, got.Frame(), u.known))
	}
	b.before = u.methods
	b.walks++
	b.frames += n
	if b.skipped += u.known.N; u.known.N > 0 {
		b.skips++
	}
}

// sample looks at processes for some time.
func (b *bothWays) sample(t *testing.T, span time.Duration, pids []int) {
	t.Helper()
	images := code.NewImageCache(0)
	defer images.Close()
	s := New(Options{Freq: 499, prepare: b.watch}, profile.NewBuilder(profile.Meta{}), images, opened(t, images, pids))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cancel()
		await(t, "a walk", func() bool { return ctx.Err() != nil || s.Progress().Stacks > 0 })
		select {
		case <-ctx.Done():
		case <-time.After(span):
		}
	})
	if _, err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	watch.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
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

// TestTrailsGiveTheStacksOfRealProgramsUnchanged walks both ways what is copied of real
// programs under load. TRAILS_TIME says for how long each is looked at.
func TestTrailsGiveTheStacksOfRealProgramsUnchanged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real programs under load")
	}
	span := time.Second
	if s := os.Getenv("TRAILS_TIME"); s != "" {
		var err error
		if span, err = time.ParseDuration(s); err != nil {
			t.Fatalf("TRAILS_TIME: %v", err)
		}
	}
	for _, name := range testtargets.Names() {
		t.Run(name, func(t *testing.T) {
			program := testtargets.Run(t, name, testtargets.Options{})
			var b bothWays
			b.sample(t, span, program.PIDs())
			t.Logf("%d walks of %d frames, %d with a part skipped, %d frames in all", b.walks, b.frames, b.skips, b.skipped)
			if b.walks == 0 {
				t.Fatal("nothing was walked")
			}
			for i, d := range b.different {
				if i == 5 {
					break
				}
				t.Errorf("of %d that differ: %s", len(b.different), d)
			}
		})
	}
}
