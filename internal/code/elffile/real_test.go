// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const libcPath = "/lib/x86_64-linux-gnu/libc.so.6"

func realFiles(t testing.TB) []string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	files := []string{self}
	for _, p := range []string{libcPath, "/usr/bin/node", "/usr/bin/readelf", "/bin/sh", "/lib64/ld-linux-x86-64.so.2"} {
		if _, err := os.Stat(p); err == nil {
			files = append(files, p)
		}
	}
	return files
}

func openReal(t testing.TB, path string) *File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(r, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func forEachReal(t *testing.T, check func(t *testing.T, f *File, std *elf.File)) {
	for _, path := range realFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			std, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer std.Close()
			check(t, openReal(t, path), std)
		})
	}
}

func TestHeadersEqualDebugElfs(t *testing.T) {
	forEachReal(t, func(t *testing.T, f *File, std *elf.File) {
		if uint16(f.Type) != uint16(std.Type) || f.Entry != std.Entry {
			t.Errorf("type %d, entry %#x", f.Type, f.Entry)
		}
		if len(f.Segments) != len(std.Progs) || len(f.Sections) != len(std.Sections) {
			t.Fatalf("%d segments, %d sections, want %d and %d", len(f.Segments), len(f.Sections), len(std.Progs),
				len(std.Sections))
		}
		for i, p := range std.Progs {
			want := Segment{p.Type, p.Flags, p.Off, p.Filesz, p.Vaddr, p.Memsz, p.Align}
			if f.Segments[i] != want {
				t.Errorf("segment %+v, want %+v", f.Segments[i], want)
			}
		}
		for i, s := range std.Sections {
			got := f.Sections[i]
			got.nameOff = 0
			want := Section{Name: s.Name, Type: s.Type, Flags: s.Flags, Addr: s.Addr,
				Off: s.Offset, Size: s.FileSize, Link: s.Link, Info: s.Info, Align: s.Addralign, EntSize: s.Entsize}
			if s.Flags&elf.SHF_COMPRESSED != 0 {
				want.Align, want.Size = got.Align, got.Size // debug/elf has the decompressed ones
			}
			if s.Type != elf.SHT_NOBITS && got != want {
				t.Errorf("section %+v, want %+v", got, want)
			}
		}
	})
}

func TestContentsEqualDebugElfs(t *testing.T) {
	forEachReal(t, func(t *testing.T, f *File, std *elf.File) {
		for i, s := range std.Sections {
			if s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL || s.Size > 4<<20 {
				continue
			}
			want, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Data(&f.Sections[i])
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, want %d, %v", s.Name, len(got), len(want), err)
			}
		}
	})
}

func TestSymbolsEqualDebugElfs(t *testing.T) {
	forEachReal(t, func(t *testing.T, f *File, std *elf.File) {
		for kind, read := range map[SymbolKind]func() ([]elf.Symbol, error){SymTab: std.Symbols, DynSym: std.DynamicSymbols} {
			want, wantErr := read()
			got, err := f.Symbols(kind)
			if (err != nil) != (wantErr != nil) || len(got) != len(want) {
				t.Fatalf("%d symbols %v, want %d %v", len(got), err, len(want), wantErr)
			}
			for i := range got {
				g, w := &got[i], &want[i]
				if g.Value != w.Value || g.Size != w.Size || g.Section != w.Section || g.info != w.Info {
					t.Fatalf("symbol %+v, want %+v", g, w)
				}
				if i%7 == 0 && f.SymbolName(kind, g) != w.Name {
					t.Fatalf("name %q, want %q", f.SymbolName(kind, g), w.Name)
				}
			}
		}
	})
}

func readelf(t *testing.T, args ...string) string {
	tool := testtargets.NeedProgram(t, "readelf")
	out, err := bounded.Output(exec.Command(tool, args...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestBuildIDsAndLinksEqualReadelfs(t *testing.T) {
	for _, path := range realFiles(t) {
		f, want := openReal(t, path), ""
		if _, rest, ok := strings.Cut(readelf(t, "-n", path), "Build ID: "); ok {
			want, _, _ = strings.Cut(rest, "\n")
		}
		if got := f.BuildID(); got != want {
			t.Errorf("%s: build id %q, want %q", path, got, want)
		}
		name, _, ok := f.debugLink()
		if ok != (f.Section(".gnu_debuglink") != nil) {
			t.Errorf("%s: has a debug link: %v, want %v", path, ok, !ok)
		}
		if ok && !strings.Contains(readelf(t, "-p", ".gnu_debuglink", path), name) {
			t.Errorf("%s: debug link %q, which readelf does not print", path, name)
		}
	}
}

func TestReadAddrReadsTheSegments(t *testing.T) {
	forEachReal(t, func(t *testing.T, f *File, std *elf.File) {
		for _, p := range std.Progs {
			if p.Type != elf.PT_LOAD || p.Filesz < 64 {
				continue
			}
			want, got := make([]byte, 64), make([]byte, 64)
			if _, err := p.ReadAt(want, int64(p.Filesz)-64); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			n := f.ReadAddr(p.Vaddr+p.Filesz-64, got)
			if n != 64 || !bytes.Equal(got, want) {
				t.Errorf("%#x: %d bytes, or other ones than the segment's", p.Vaddr, n)
			}
		}
		if n := f.ReadAddr(^uint64(0)-8, make([]byte, 64)); n != 0 {
			t.Errorf("%d bytes at the end of the address space, want 0", n)
		}
	})
}

type mapping struct {
	start, end, off uint64
	exec            bool
	name            string
}

func mappings(t *testing.T, pid string) (out []mapping) {
	r, err := os.Open("/proc/" + pid + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	hex := func(s string) uint64 {
		v, err := strconv.ParseUint(s, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for sc := bufio.NewScanner(r); sc.Scan(); {
		w := strings.Fields(sc.Text())
		if len(w) < 6 {
			continue
		}
		from, to, _ := strings.Cut(w[0], "-")
		out = append(out, mapping{hex(from), hex(to), hex(w[2]), strings.Contains(w[1], "x"), w[5]})
	}
	return out
}

func TestAllMappingsOfAFileHaveOneBias(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error is that of a killed process
	}()
	testtargets.Asleep(t, cmd.Process.Pid) // and dynamically linked
	first := map[string]uint64{}
	checkBiases(t, mappings(t, strconv.Itoa(cmd.Process.Pid)), first)
	if len(first) < 3 {
		t.Errorf("mapped files %v, want at least 3", first)
	}
}

func checkBiases(t *testing.T, maps []mapping, first map[string]uint64) {
	for _, m := range maps {
		if !strings.HasPrefix(m.name, "/") {
			continue
		}
		r, err := os.Open(m.name)
		if err != nil {
			continue
		}
		st, _ := r.Stat()
		f, err := Open(r, st.Size())
		r.Close()
		if errors.Is(err, ErrNotELF) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		bias, ok := f.Bias(m.start, m.off, m.exec)
		if want, seen := first[m.name]; !ok || seen && bias != want {
			t.Errorf("%+v: bias %#x %v, want %#x", m, bias, ok, want)
		} else if !seen {
			first[m.name] = bias
			if m.off == 0 && f.Type == elf.ET_DYN && bias != m.start {
				t.Errorf("%+v: bias %#x, want the start", m, bias)
			}
		}
	}
}

func vdso(t *testing.T) []byte {
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for _, m := range mappings(t, "self") {
		if m.name == "[vdso]" {
			b := make([]byte, m.end-m.start)
			if _, err := mem.ReadAt(b, int64(m.start)); err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	testtargets.Need(t, false, "a vDSO", "a kernel without vdso=0")
	return nil
}

func TestVDSO(t *testing.T) {
	f := openBytes(t, vdso(t))
	syms, err := f.Symbols(DynSym)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range syms {
		names[f.SymbolName(DynSym, &syms[i])] = true
	}
	if !names["__vdso_clock_gettime"] && !names["__kernel_clock_gettime"] {
		t.Errorf("symbols %v, want clock_gettime", names)
	}
	hdr, frame := f.EhFrame()
	if hdr == nil || frame == nil || f.BuildID() == "" {
		t.Errorf("sections of call frame information %v, %v, build ID %q; want all", hdr, frame, f.BuildID())
	}
}

type noSections struct{ io.ReaderAt }

func (n noSections) ReadAt(p []byte, off int64) (int, error) {
	c, err := n.ReaderAt.ReadAt(p, off)
	for i := range 8 { // e_shoff
		if at := 40 + int64(i) - off; at >= 0 && at < int64(c) {
			p[at] = 0
		}
	}
	return c, err
}

func TestUnwindSectionsAreFoundWithoutSectionHeaders(t *testing.T) {
	for _, path := range realFiles(t) {
		f := openReal(t, path)
		wantHdr, wantFrame := f.EhFrame()
		bare, err := Open(noSections{f.r}, int64(f.size))
		if err != nil || len(bare.Sections) != 0 {
			t.Fatal(err)
		}
		hdr, frame := bare.EhFrame()
		if (hdr == nil) != (wantHdr == nil) || (frame == nil) != (wantFrame == nil) {
			t.Errorf("%s: found %v, %v without section headers, want as with them", path, hdr, frame)
		}
		if hdr != nil && (hdr.addr != wantHdr.addr || frame.addr != wantFrame.addr || frame.size < wantFrame.size) {
			t.Errorf("%s: header %#x, frames %#x+%#x, other than those of the section headers", path, hdr.addr, frame.addr,
				frame.size)
		}
		// Go's linker does not put its build ID into the note segment.
		if id := bare.BuildID(); id != f.BuildID() && (id != "" || path == libcPath) {
			t.Errorf("%s: build ID %q without section headers, want %q", path, id, f.BuildID())
		}
	}
}
