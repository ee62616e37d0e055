// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"debug/dwarf"
	"debug/elf"
	"os/exec"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
)

const source = `package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"time"
)

type num interface{ ~int | ~float64 }

func sum[T num](xs []T) (s T) {
	for _, x := range xs {
		s += x
	}
	return s
}

//go:noinline
func big(n int) int {
	var a [5000]int
	for i := range a {
		a[i] = i * n
	}
	return sum(a[:]) + show(n)
}

//go:noinline
func show(n int) int {
	pcs := make([]uintptr, 64)
	k := runtime.Callers(1, pcs)
	fmt.Println("STACK")
	for _, pc := range pcs[:k] {
		fmt.Printf("PC %#x\n", pc-1)
	}
	fr := runtime.CallersFrames(pcs[:k])
	for {
		f, more := fr.Next()
		fmt.Println("FRAME", f.Function, f.File, f.Line)
		if !more {
			return n
		}
	}
}

func inner(n int) int { return show(n) + 1 }
func middle(n int) int { return inner(n) + 2 }

//go:noinline
func outer(n int) (r int) {
	defer func() { r += strings.Count("aXbX", "X") }()
	xs := []int{3, n, 1}
	sort.Slice(xs, func(i, j int) bool { return xs[i] < xs[j] })
	return middle(n) + big(n)
}

func main() {
	fmt.Println(outer(5))
	if len(os.Args) > 1 {
		time.Sleep(time.Hour)
	}
}
`

const cgoSource = `package main

/*
extern int back(int);
static int there(int n) { volatile int x = back(n); return x + 1; }
*/
import "C"
import "fmt"

//export back
func back(n C.int) C.int { return n * 2 }

func main() { fmt.Println(C.there(3)) }
`

func build(t testing.TB, src string, env []string, args ...string) string {
	t.Helper()
	command, language := toolchain(env)
	return testtargets.Compiled{
		Name:    "prog",
		Texts:   map[string]string{"main.go": src, "go.mod": "module prog\n\ngo " + language + "\n"},
		Env:     append([]string{"GOFLAGS=-mod=mod -trimpath", "GOWORK=off"}, env...),
		Command: append(append([]string{command, "build", "-o", "OUT"}, args...), "."),
	}.Build(t)
}

func toolchain(env []string) (command, language string) {
	release := ""
	for _, e := range env {
		if r, ok := strings.CutPrefix(e, "GOTOOLCHAIN=go"); ok {
			release = r
		} else if strings.HasPrefix(e, "GOROOT=") {
			release = "1.19"
		}
	}
	return testtargets.GoCommand(release)
}

func image(t testing.TB, path string) (Image, *elf.File) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	im := Image{Arch: frames.X86_64, Read: reader(f)}
	if f.Machine == elf.EM_AARCH64 {
		im.Arch = frames.ARM64
	}
	for _, s := range f.Sections {
		data := func() []byte {
			b, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		switch s.Name {
		case ".gopclntab", ".data.rel.ro.gopclntab":
			im.Pclntab, im.PclntabAddr = data(), s.Addr
		case ".go.module", ".noptrdata", ".data", ".data.rel.ro":
			im.Data = append(im.Data, Range{s.Addr, s.Size})
		case ".rela", ".rela.dyn":
			im.Rela = data()
		}
	}
	return im, f
}

func reader(f *elf.File) func(uint64, []byte) int {
	type seg struct {
		addr uint64
		data []byte
	}
	var segs []seg
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			b := make([]byte, p.Filesz)
			p.ReadAt(b, 0)
			segs = append(segs, seg{p.Vaddr, b})
		}
	}
	return func(addr uint64, buf []byte) int {
		for _, s := range segs {
			if off := addr - s.addr; off < uint64(len(s.data)) {
				return copy(buf, s.data[off:])
			}
		}
		return 0
	}
}

func open(t testing.TB, path string) (*Table, *elf.File) {
	t.Helper()
	im, f := image(t, path)
	tab, err := New(im)
	if err != nil {
		t.Fatalf("New(%s): %v", path, err)
	}
	return tab, f
}

type variant struct {
	name string
	src  string
	env  []string
	args []string
}

var (
	noCgo    = []string{"CGO_ENABLED=0"}
	withCgo  = []string{"CGO_ENABLED=1"}
	forARM   = []string{"GOARCH=arm64", "CGO_ENABLED=0"}
	stripped = []string{"-ldflags=-s -w"}
	pie      = []string{"-buildmode=pie"}
)

// variants leaves out, unless all are tested, those for which the whole standard library is compiled again and whose
// kinds the others have.
func variants() []variant {
	vs := []variant{{"plain", source, noCgo, nil}, {"pie", source, noCgo, pie}, {"arm64", source, forARM, nil}}
	if testtargets.All() {
		vs = append(vs, variant{"arm64-pie", source, forARM, pie},
			variant{"unoptimised", source, noCgo, []string{"-gcflags=all=-N -l"}})
	}
	if _, err := exec.LookPath("gcc"); err == nil {
		vs = append(vs, variant{"cgo", cgoSource, withCgo, nil},
			variant{"cgo-static", cgoSource, withCgo, []string{"-ldflags=-linkmode=external -extldflags=-static"}})
		if testtargets.All() {
			vs = append(vs, variant{"cgo-pie", cgoSource, withCgo, pie})
		}
	}
	return vs
}

func with(release string, env ...string) []string { return testtargets.GoRelease(release, env...) }

var plainSource = strings.NewReplacer("type num interface{ ~int | ~float64 }\n", "",
	"func sum[T num](xs []T) (s T)", "func sum(xs []int) (s int)").Replace(source)

// olderReleases are for make test-all; each needs builds of its own.
func olderReleases(t *testing.T) []string {
	if !testtargets.All() {
		return nil
	}
	return testtargets.GoReleases(t)
}

// laterReleases are for make test-all as well.
func laterReleases(t *testing.T) []string {
	if !testtargets.All() {
		return nil
	}
	return testtargets.LaterGoReleases(t)
}

func older(t *testing.T) (vs []variant) {
	for _, r := range testtargets.First(testtargets.GoReleases(t)) {
		vs = append(vs, variant{"go" + r, plainSource, with(r, noCgo...), nil})
		if !testtargets.All() {
			continue
		}
		vs = append(vs, variant{"go" + r + "-arm64", plainSource, with(r, forARM...), nil})
	}
	return vs
}

// members returns the offsets of a structure's members.
func members(t *testing.T, d *dwarf.Data, typ string) map[string]int64 {
	t.Helper()
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			t.Fatalf("no %s in the DWARF: %v", typ, err)
		}
		if e.Tag != dwarf.TagStructType || e.Val(dwarf.AttrName) != typ {
			continue
		}
		out := map[string]int64{}
		for e, err = r.Next(); err == nil && e != nil && e.Tag != 0; e, err = r.Next() {
			if name, ok := e.Val(dwarf.AttrName).(string); ok && e.Tag == dwarf.TagMember {
				out[name] = e.Val(dwarf.AttrDataMemberLoc).(int64)
			}
		}
		return out
	}
}
