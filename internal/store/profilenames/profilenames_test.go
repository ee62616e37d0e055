// SPDX-License-Identifier: Apache-2.0

package profilenames

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const source = `static inline __attribute__((always_inline)) int mix(int x) { volatile int y = x; return y * 3; }
__attribute__((noinline)) int inner(int n) { return mix(n) + 1; }
int main(int argc, char **argv) { return inner(argc) + inner(2); }
`

func tool(t *testing.T, name string) string {
	t.Helper()
	p := testtargets.NeedProgram(t, name)
	return p
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	out, err := bounded.AllOutput(cmd)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func build(t *testing.T, flags ...string) string {
	t.Helper()
	gcc, objcopy := tool(t, "gcc"), tool(t, "objcopy")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, slices.Concat([]string{gcc, "-g", "-O2", "-Wl,--build-id", "-o", "p", "p.c"}, flags)...)
	run(t, dir, objcopy, "--only-keep-debug", "p", "p.debug")
	run(t, dir, objcopy, "--strip-all", "p", "p.bare")
	return dir
}

const loaded = 0x5555_0000_0000

func recorded(t *testing.T, dir string, addrs []uint64) *profile.Profile {
	t.Helper()
	f, err := elf.Open(filepath.Join(dir, "p.bare"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const page = 4096
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}}
	bias := uint64(loaded)
	if f.Type == elf.ET_EXEC {
		bias = 0
	}
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
			continue
		}
		first := s.Vaddr &^ (page - 1)
		p.Mapping = append(p.Mapping, &profile.Mapping{ID: 1, Start: bias + first, Offset: s.Off &^ (page - 1),
			Limit: bias + (s.Vaddr+s.Memsz+page-1)&^(page-1), File: "/srv/p", BuildID: idOf(t, f)})
	}
	if len(p.Mapping) != 1 {
		t.Fatalf("%d segments have code", len(p.Mapping))
	}
	unnamed := &profile.Function{ID: 7, Name: "p+0x1000", SystemName: rec.SystemNameOfType("p+0x1000", rec.Machinery)}
	p.Function = append(p.Function, unnamed)
	for i, a := range addrs {
		l := &profile.Location{ID: uint64(i) + 1, Mapping: p.Mapping[0], Address: bias + a}
		if i == 0 {
			l.Line = []profile.Line{{Function: unnamed}}
		}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
	}
	return p
}

func idOf(t *testing.T, f *elf.File) string {
	t.Helper()
	const header = 16 // of a note with the name "GNU"
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil || len(note) <= header {
		t.Fatalf("build id: %v", err)
	}
	return hex.EncodeToString(note[header:])
}

func codeOf(t *testing.T, dir string) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(filepath.Join(dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "inner" || s.Name == "main" {
			for a := s.Value; a < s.Value+s.Size; a++ {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs
}

// Names, inlined calls, files and lines at every byte of two functions are compared with addr2line's.
func TestAStrippedProgramsRecordingIsNamedByItsFile(t *testing.T) {
	addr2line := tool(t, "addr2line")
	for name, flags := range map[string][]string{
		"position independent": {"-pie", "-fPIE"},
		"fixed address":        {"-no-pie", "-fno-pie"},
		"code in one segment":  {"-Wl,-z,noseparate-code"},
		"moved segment":        {"-no-pie", "-fno-pie", "-Wl,-Ttext-segment=0x7000000"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := build(t, flags...)
			addrs := codeOf(t, dir)
			args := []string{addr2line, "-i", "-f", "-s", "-a", "-e", "p"}
			for _, a := range addrs {
				args = append(args, "0x"+strconv.FormatUint(a, 16))
			}
			want := strings.Split(strings.TrimPrefix(run(t, dir, args...), "0x"), "\n0x")
			for _, file := range []string{"p", "p.debug"} {
				p := recorded(t, dir, addrs)
				if err := AddFrom(p, filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
				if err := p.CheckValid(); err != nil {
					t.Fatal(err)
				}
				for i, l := range p.Location {
					got := ""
					for _, ln := range l.Line {
						got += ln.Function.Name + " " + filepath.Base(ln.Function.Filename) + ":" +
							strconv.FormatInt(ln.Line, 10) + " "
					}
					if want := inOneLine(want[i]); got != want {
						t.Errorf("%s, %#x: %q, addr2line %q", file, addrs[i], got, want)
					}
				}
				f := p.Location[0].Line[0].Function
				if rec.FrameType(f.Name, f.SystemName) != rec.Machinery || f.SystemName == "p+0x1000 [machinery]" {
					t.Errorf("%s: the type of the frame is lost: %q", file, f.SystemName)
				}
			}
		})
	}
}

func inOneLine(answer string) (out string) {
	lines := strings.Split(strings.TrimSpace(answer), "\n")[1:]
	for i := 0; i+1 < len(lines); i += 2 {
		place, _, _ := strings.Cut(lines[i+1], " ")
		out += lines[i] + " " + place + " "
	}
	return out
}

func TestAFileOfAnotherBuildIsRefused(t *testing.T) {
	dir, another := build(t), build(t, "-DOTHER", "-O1")
	p := recorded(t, dir, codeOf(t, dir))
	own := p.Mapping[0].BuildID
	other := recorded(t, another, codeOf(t, another)).Mapping[0].BuildID
	if own == other {
		t.Fatal("both builds have one id")
	}
	err := AddFrom(p, filepath.Join(another, "p"))
	if !errors.Is(err, errNoMatch) || !strings.Contains(err.Error(), own) || !strings.Contains(err.Error(), other) {
		t.Errorf("want both ids, %s and %s: %v", own, other, err)
	}
	if len(p.Function) != 1 {
		t.Errorf("%d functions", len(p.Function))
	}
}

func TestAFileThatHasNoNamesIsRefused(t *testing.T) {
	dir := build(t)
	run(t, dir, tool(t, "gcc"), "-Wl,--build-id=none", "-o", "noid", "p.c")
	for file, want := range map[string]string{
		"p.bare": "no symbol", "noid": "build id", "p.c": "give an ELF file", "none": "no such file",
	} {
		p := recorded(t, dir, codeOf(t, dir))
		if err := AddFrom(p, filepath.Join(dir, file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
