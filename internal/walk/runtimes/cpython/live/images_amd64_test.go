// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/testtargets/pythonimages"
	"prywalk/internal/walk/managed"
)

// TestImagesAreRecorded makes the images of package recorded in PYTHON_IMAGES.
func TestImagesAreRecorded(t *testing.T) {
	dir := os.Getenv("PYTHON_IMAGES")
	testtargets.Need(t, dir != "", "PYTHON_IMAGES", "the name of a directory, to record images to")
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			program := filepath.Join(t.TempDir(), "chain.py")
			if text, err := os.ReadFile("testdata/chain.py"); err != nil || os.WriteFile(program, text, 0o644) != nil {
				t.Fatal(err)
			}
			cmd, line := observed.Launch(t, exe, program, "spin", "0")
			var k known
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			var image bytes.Buffer
			if err := recordDeep(t, attach(t, cmd.Process.Pid), k).Encode(&image); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, strings.TrimPrefix(version, release)+pythonimages.Suffix)
			if err := os.WriteFile(file, image.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

const (
	mostRecords = 1000
	deepEnough  = 44
)

func recordDeep(t *testing.T, py *python, k known) *pythonimages.Image {
	t.Helper()
	for range mostRecords {
		regs := observed.Hold(t, py.pid)
		m, err := py.record(regs, k)
		if err := syscall.PtraceDetach(py.pid); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Log(err)
		} else if len(m.Calls) >= deepEnough {
			return m
		}
	}
	t.Fatal("no deep chain was met")
	return nil
}

func (py *python) record(regs *frames.Regs, k known) (*pythonimages.Image, error) {
	m := &pythonimages.Image{What: py.names.Name(), TID: py.pid, TLS: regs.TLS, PC: regs.PC,
		Names: map[string]pythonimages.Symbol{}}
	for i := range uint8(16) {
		v, _ := regs.Get(i)
		m.Registers = append(m.Registers, v)
	}
	modules := py.host.Modules()
	names := map[string]string{}
	for _, mod := range modules {
		names[mod.Name] = "/python/" + filepath.Base(mod.Name)
		m.Mapped = append(m.Mapped, pythonimages.Module{Name: names[mod.Name], Start: mod.Start, End: mod.End, Bias: mod.Bias,
			Generated: mod.Generated})
	}
	w := &py.walker
	for w.Init(py.p.Space(), regs, observed.Still(py.host.Read)); w.Next(); {
		f := w.Frame()
		if n := len(m.Natives); n > 0 {
			m.Natives[n-1].CFA = f.SP
		}
		m.Natives = append(m.Natives, pythonimages.Native{PC: f.PC, SP: f.SP, Caller: f.AfterCall,
			Module: slices.Index(modules, f.Module)})
	}
	if w.StopReason().Complete() {
		m.Natives[len(m.Natives)-1].CFA = managed.Outermost
	}
	r := &recorder{py.host, m, names, map[uint64][]byte{}}
	f, err := m.Walk(r)
	if err != nil {
		return nil, err
	}
	m.Thread = f.Thread
	var stack []frame
	for i, c := range f.Calls {
		stack = append(stack, frame{Frame: managed.Frame{Function: c.Function, Line: c.Line}})
		if i < len(k) {
			m.Calls = append(m.Calls, pythonimages.Call{Function: k[i].name, Line: k[i].line})
		}
	}
	if msg := k.check(stack); msg != "" || f.Freed || f.Health != managed.Matched {
		return nil, fmt.Errorf("health %d: %s", f.Health, msg)
	}
	for _, at := range slices.Sorted(maps.Keys(r.parts)) {
		if n := len(m.Memory); n > 0 && m.Memory[n-1].Addr+uint64(len(m.Memory[n-1].Bytes)) == at {
			m.Memory[n-1].Bytes = append(m.Memory[n-1].Bytes, r.parts[at]...)
		} else {
			m.Memory = append(m.Memory, frames.Region{Addr: at, Bytes: r.parts[at]})
		}
	}
	return m, nil
}

const granule = 64

type recorder struct {
	*host
	m     *pythonimages.Image
	names map[string]string
	parts map[uint64][]byte // by address
}

// Read implements [managed.Host].
func (r *recorder) Read(addr uint64, b []byte) int {
	n := r.host.Read(addr, b)
	for at := addr &^ (granule - 1); n > 0 && at < addr+uint64(n); at += granule {
		if part := make([]byte, granule); r.parts[at] == nil && r.host.Read(at, part) == granule {
			r.parts[at] = part
		}
	}
	return n
}

// Word implements [frames.Memory].
func (r *recorder) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := r.Read(addr, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// Cut implements [frames.Memory].
func (r *recorder) Cut(uint64) bool { return false }

// Unchanged implements [managed.Live].
func (r *recorder) Unchanged() bool { return true }

// Symbol implements [managed.Host].
func (r *recorder) Symbol(m *frames.Module, name string) (addr, size uint64, ok bool) {
	addr, size, ok = r.host.Symbol(m, name)
	if ok {
		r.m.Names[r.names[m.Name]+" "+name] = pythonimages.Symbol{At: addr, Size: size}
	}
	return addr, size, ok
}
