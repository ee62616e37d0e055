// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/core"

	"prywalk/integration/machine"
)

const recordTo = "ARM64_RECORD"

var lives = []string{"chain-pac", "chain-dynamic"}

func coreJobs(b *machine.Builder) (jobs []machine.Job) {
	add := func(name string, args ...string) {
		jobs = append(jobs, machine.Job{Name: "core-" + name, Limit: jobTime, Dir: "/tests",
			Args: append([]string{"/tests/cores"}, args...)})
	}
	images := map[string]*image{}
	for i := range stops {
		s := &stops[i]
		if images[s.program] == nil {
			images[s.program] = openImage(b.T, b.From["programs/"+s.program])
		}
		at := s.at(images[s.program])
		add(s.name, "stop", s.name, "0x"+strconv.FormatUint(at, 16), "/programs/"+s.program)
	}
	for _, name := range lives {
		add(name, "live", name, "/programs/"+name)
	}
	return jobs
}

func checkCores(c *machine.Console, t *testing.T, sysroot string) {
	for i := range stops {
		s := &stops[i]
		if c.Jobs["core-"+s.name] == nil {
			continue
		}
		t.Run("stopped-"+s.name, func(t *testing.T) { s.checkCore(t, c.File(t, s.name), sysroot) })
	}
	for _, name := range lives {
		if c.Jobs["core-"+name] == nil {
			continue
		}
		t.Run("live-"+name, func(t *testing.T) {
			var live stacks.Process
			if err := json.Unmarshal(c.File(t, name+".json"), &live); err != nil {
				t.Fatal(err)
			}
			sameAsLive(t, &live, c.File(t, name), sysroot)
		})
	}
}

func openCore(t *testing.T, coreFile []byte, sysroot string) *core.Core {
	t.Helper()
	c, err := core.Open(bytes.NewReader(coreFile), int64(len(coreFile)), sysroot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func firstOf(t *testing.T, c *core.Core, p *stacks.Process) *stacks.Thread {
	t.Helper()
	i := slices.IndexFunc(p.Threads, func(th stacks.Thread) bool { return th.TID == c.Threads()[0].TID })
	if i < 0 {
		t.Fatalf("no thread %d", c.Threads()[0].TID)
	}
	return &p.Threads[i]
}

func (s *stop) checkCore(t *testing.T, coreFile []byte, sysroot string) {
	c := openCore(t, coreFile, sysroot)
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("warnings of the core are %q, want none", w)
	}
	th := firstOf(t, c, dump.Core(c, dump.Options{MaxDepth: 200}))
	var names []string
	for _, f := range th.Frames {
		names = append(names, f.Function)
	}
	if !th.Complete || !s.fits(names) {
		t.Fatalf("stack is %s, stop reason %s, want %s and then %s\n%+v", strings.Join(names, " < "), th.StopReason,
			strings.Join(s.chain, " < "), strings.Join(outer, " or "), th.Frames)
	}
	t.Logf("%s", strings.Join(names, " < "))
	if dir := os.Getenv(recordTo); dir != "" {
		s.record(t, coreFile, c, th, sysroot, filepath.Join(dir, s.name+"_aarch64"))
	}
}

func sameAsLive(t *testing.T, live *stacks.Process, coreFile []byte, sysroot string) {
	t.Helper()
	dead := dump.Core(openCore(t, coreFile, sysroot), dump.Options{MaxDepth: -1})
	if len(dead.Threads) != len(live.Threads) || len(live.Threads) != 5 || dead.PID != live.PID {
		t.Fatalf("the core has process %d with %d threads, want %d with %d (5), as in the dump", dead.PID, len(dead.Threads),
			live.PID, len(live.Threads))
	}
	for i := range live.Threads {
		a, b := &live.Threads[i], &dead.Threads[i]
		if a.TID != b.TID || !a.Complete || !b.Complete || !slices.EqualFunc(a.Frames, b.Frames, sameFrame) {
			t.Errorf("the dump and the core differ: thread %d, %s\n%+v\ncore: thread %d, %s\n%+v", a.TID, a.StopReason, a.Frames,
				b.TID, b.StopReason, b.Frames)
		}
	}
	cutAnywhere(t, dead, coreFile, sysroot)
}

// The file's path is below the sysroot here; of a live sleeping thread only two registers are known.
func sameFrame(a, b stacks.Frame) bool {
	return a.PC == b.PC && a.SP == b.SP && a.Function == b.Function && a.Offset == b.Offset && a.BuildID == b.BuildID
}

// cutAnywhere truncates the core. Each stack must be a beginning of the whole one.
func cutAnywhere(t *testing.T, whole *stacks.Process, coreFile []byte, sysroot string) {
	t.Helper()
	var cut int
	for left := len(coreFile) - 1; left > len(coreFile)/16; left -= len(coreFile) / 37 {
		c, err := core.Open(bytes.NewReader(coreFile[:left]), int64(left), sysroot)
		if err != nil {
			continue
		}
		p := dump.Core(c, dump.Options{MaxDepth: -1})
		if len(c.Warnings()) == 0 {
			t.Errorf("core truncated to %d of %d bytes: no warning", left, len(coreFile))
		}
		for i := range p.Threads {
			a, b := &whole.Threads[i], &p.Threads[i]
			n, marked := len(b.Frames), true
			if !b.Complete {
				n--
				marked = n >= 0 && b.Frames[n].Function == "[incomplete: "+b.StopReason+"]"
			}
			if !marked || n > len(a.Frames) || !slices.EqualFunc(a.Frames[:n], b.Frames[:n], sameFrame) ||
				b.Complete != (n == len(a.Frames)) {
				t.Errorf("core truncated to %d of %d bytes: %+v\nis not the beginning of %+v, or is not marked as incomplete", left,
					len(coreFile), b, a)
			}
			if !b.Complete {
				cut++
			}
		}
		c.Close()
	}
	t.Logf("%d stacks are incomplete", cut)
	if cut == 0 {
		t.Error("no stack was incomplete")
	}
}
