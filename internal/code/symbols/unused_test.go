// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
)

type recorder struct {
	*Namer
	images *loadedcode.ImageCache
	*profile.Builder
	t *testing.T
}

func (r *recorder) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	return r.Frames(m.Origin.Module, m.Origin.PID, addr, nil)
}

func (r *recorder) IsFinal(m *profile.ModuleInfo) bool { return r.NamesFinal(m.Origin.Module) }

func (r *recorder) write() []byte {
	r.t.Helper()
	var out bytes.Buffer
	if err := r.Write(&out, r); err != nil {
		r.t.Fatal(err)
	}
	r.DropUnused()
	r.images.CloseUnused()
	return out.Bytes()
}

func (r *recorder) known(exe string) (*loadedcode.Process, *exec.Cmd) {
	r.t.Helper()
	cmd := testtargets.Child(r.t, exec.Command(exe))
	testtargets.Asleep(r.t, cmd.Process.Pid)
	p, err := r.images.Open(cmd.Process.Pid)
	if err != nil {
		r.t.Fatal(err)
	}
	var stack []profile.Loc
	for _, m := range p.Space().Modules() {
		addr := m.Start
		at := loadedcode.MappingOf(m)
		switch {
		case m.Name == exe:
			addr = m.Bias + at.Image.ELF.Entry
		case at.Image != nil || m.Name != "[anon]":
			continue
		}
		walked := *m
		walked.Sources, walked.Calls = nil, nil
		info := &profile.ModuleInfo{Start: m.Start, End: m.End, Bias: m.Bias, Path: m.Name,
			Origin: profile.Origin{Module: &walked, PID: p.PID}}
		if at.Image == nil {
			info.Owner = p.PID
			r.JITFuncBounds(p.PID)(addr)
		} else {
			info.File = profile.FileID(at.Image.ID)
		}
		stack = append(stack, profile.Loc{Module: info, Addr: addr})
	}
	if len(stack) != 2 {
		r.t.Fatalf("%d addresses are recorded, want the program's and that of code without a file", len(stack))
	}
	r.Add(profile.Interval{Stack: r.Intern(stack), PID: p.PID, TID: p.PID, CPU: 1})
	return p, cmd
}

const withoutFile = `
#include <sys/mman.h>
#include <unistd.h>
int main(void) { return mmap(0, 1 << 16, 5, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED || pause(); }`

func TestFilesOfEndedProcessesAreClosed(t *testing.T) {
	const programs = 24
	dir := t.TempDir()
	run(t, dir, need(t, "gcc"), "-g", "-Wl,--build-id=none", "-o", "whole", write(t, dir, "a.c", withoutFile))
	run(t, dir, need(t, "objcopy"), "--only-keep-debug", "whole", "a.debug")
	run(t, dir, "objcopy", "--strip-all", "--add-gnu-debuglink=a.debug", "whole", "bare")
	r := &recorder{NewNamer(), loadedcode.NewImageCache(0), profile.NewBuilder(profile.Meta{}), t}
	defer r.images.Close()
	defer r.Close()
	var first int
	for i := range programs {
		exe := filepath.Join(dir, fmt.Sprintf("program%d", i))
		run(t, dir, "cp", "bare", exe)
		p, cmd := r.known(exe)
		r.write()
		testtargets.Kill(cmd)
		_ = cmd.Wait()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(exe); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = openIn(t, dir)
		}
	}
	if first == 0 {
		t.Error("no debug file was opened, want one per program")
	}
	var text []byte
	for range 4 {
		text = r.write()
	}
	if n := openIn(t, dir); n != 0 || len(r.tables)+len(r.byPID) != 0 {
		t.Errorf("%d files are open; %d tables, files of %d processes are kept; want none", n, len(r.tables), len(r.byPID))
	}
	p, err := pprof.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				named[line.Function.Name]++
			}
		}
	}
	if named["_start"] != programs || named["[anon]"] != programs {
		t.Errorf("names %v, want %d times each _start and [anon]", named, programs)
	}
}

func openIn(t *testing.T, dir string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}
