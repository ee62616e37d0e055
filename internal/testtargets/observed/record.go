// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/core"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
)

// Dump samples a live process.
func Dump(t *testing.T, pid int, o dump.Options) *stacks.Process {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	o.MaxDepth = -1
	d, err := dump.Sample(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TextOf returns a dump's text, whose first line is to end with summary.
func TextOf(t *testing.T, p *stacks.Process, summary string) string {
	t.Helper()
	var b strings.Builder
	if err := text.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); !strings.HasSuffix(first, summary) {
		t.Errorf("the first line is %q, want …%q", first, summary)
	}
	return b.String()
}

// DumpCore dumps a core made by gcore.
func DumpCore(t *testing.T, pid int) *stacks.Process {
	t.Helper()
	f, err := os.Open(testtargets.Core(t, pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.Open(f, st.Size(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	return dump.Core(c, dump.Options{MaxDepth: -1})
}

// Recording is how a process is recorded.
type Recording struct {
	Options target.SamplingOptions
	Stops   int64 // number after which the recording ends
	Stamped bool  // keep each sample with its time; else equal ones are summed
	// Kill ends the process before names are looked up, so that none is read from its memory.
	Kill   bool
	Images *loadedcode.ImageCache // of earlier recordings; may be nil
}

// Record records a process and names its frames.
func Record(t *testing.T, pid int, r Recording) *pprof.Profile {
	t.Helper()
	images := r.Images
	if images == nil {
		images = loadedcode.NewImageCache(0)
		defer images.Close()
	}
	p, err := images.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	b := profile.NewBuilder(profile.Meta{
		Start: time.Now(), Period: time.Second / time.Duration(r.Options.Freq), Aggregate: !r.Stamped,
	})
	s := sampler.New(r.Options, b, images, []*loadedcode.Process{p})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		testtargets.Comes(func() bool { return s.Progress().Tracer.Stops >= r.Stops })
	}()
	if _, err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	if r.Kill {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	names := namer{symbols.NewNamer()}
	defer names.Close()
	var w bytes.Buffer
	if err := b.Write(&w, names); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	prof, err := profile.Read(&w)
	if err != nil {
		t.Fatal(err)
	}
	return prof
}

type namer struct{ *symbols.Namer }

// Resolve implements [profile.Resolver].
func (n namer) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	ref := m.Origin
	if ref.Module == nil {
		return nil
	}
	return n.Frames(ref.Module, ref.PID, addr, nil)
}
